"""What is found, how it is reported, and scenarios that cannot be used."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest
import trio

import dynkube
from dynkube.errors import DynkubeError, InvalidInput
from dynkube_testing import PerturbedRun, RunLimits, perturb, replay
from tests.testing.perturbation.kit import Program, Scenario, copy, secret, two_configs


async def copy_once(client: dynkube.Client) -> None:
    """Like ``copy``, but a copy that fails is forgotten."""
    async with client.informer("configmaps", namespace="default") as configs, configs.events() as events:
        async for event in events:
            match event:
                case dynkube.Added(config) if config.name in {"a", "b"}:
                    with suppress(DynkubeError):
                        await client.resource("secrets").create(secret(config.name))


async def never_content(client: dynkube.Client) -> None:
    """Delete and create a Secret again, until the end of time."""
    async with client.informer("configmaps", namespace="default") as configs, configs.events() as events:
        async for _ in events:
            for _ in range(100):
                await client.resource("secrets").create(secret("s"))
                await trio.sleep(100)
                await client.resource("secrets").delete("s")


async def returns(client: dynkube.Client) -> None:
    await client.resource("configmaps").list()


async def waits(run: PerturbedRun) -> None:
    await trio.sleep(1)


def program(of: Program) -> Scenario:
    return partial(two_configs, program=of)


def test_a_correct_program_has_no_findings() -> None:
    report = perturb(program(copy), plans=12)

    assert (report.findings, report.plans) == ((), 12)
    assert sum(report.runs.values()) == 12
    report.raise_for_findings()


def test_a_finding_is_as_small_as_possible_and_says_what_differs() -> None:
    report = perturb(program(copy_once), plans=60, families=["refuse"], max_findings=1)

    (finding,) = report.findings
    (perturbation,) = finding.plan.perturbations
    assert (perturbation.family, perturbation.seconds) == ("refuse", 0)
    name = "ab"[perturbation.at - 1]
    assert finding.problems[0].details == (f"secrets default/{name} is missing",)
    with pytest.raises(AssertionError, match=rf"(?s)secrets default/{name} is missing.*timeline.*fault    refuse\("):
        report.raise_for_findings()


def test_a_finding_can_be_played_again() -> None:
    (finding,) = perturb(program(copy_once), plans=60, families=["refuse"], max_findings=1).findings

    again = replay(program(copy_once), str(finding.plan))

    assert again is not None
    assert again.problems == finding.problems
    assert again.timeline == finding.timeline
    assert replay(program(copy), str(finding.plan)) is None


def test_the_same_plans_are_run_for_the_same_seed() -> None:
    first, second = (perturb(program(copy_once), plans=4, seed=5) for _ in range(2))

    assert [str(each) for each in first.findings] == [str(each) for each in second.findings]


def test_a_scenario_may_assert() -> None:
    async def scenario(run: PerturbedRun) -> None:
        await two_configs(run, copy_once)
        assert len(run.server.list("secrets")) == 2

    (finding,) = perturb(scenario, plans=20, families=["lost_answer", "refuse"], max_findings=1).findings

    assert {problem.oracle for problem in finding.problems} >= {"assertion"}


@pytest.mark.parametrize(
    ("scenario", "error"),
    [
        (program(never_content), "the scenario ends without perturbations too: the program still writes 1000 seconds"),
        (program(returns), "the program ends by itself: it returned, without perturbations too"),
        (waits, "the scenario never calls settle()"),
        (lambda run: run.settle(), "the program sends no requests"),
        (lambda run: run.client.resource("pods").get("x"), "the scenario fails without perturbations too"),
    ],
)
def test_a_scenario_that_cannot_be_used_is_an_error(scenario: Scenario, error: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        perturb(scenario, limits=RunLimits(timeout=1000))

    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"plans": 0}, "plans is 0: pass a positive number"),
        ({"max_findings": -1}, "max_findings is -1"),
        ({"families": []}, "families is empty: pass some of crash"),
        ({"families": ["lost_lease"]}, "there is nothing to perturb by lost_lease"),
        ({"families": ["cash"]}, "there is no family 'cash': known are crash, stale"),
    ],
)
def test_invalid_options_are_errors(options: dict[str, object], error: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        perturb(program(copy), **options)  # type: ignore[arg-type]

    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        ("stale(at=1, seconds=5)", "back is the number of writes, 1 or more, for stale only"),
        ("crash(at=1, how=unsent, back=1)", "back is the number of writes, 1 or more, for stale only"),
        ("crash(at=1, how=unsent, seconds=nan)", "seconds must be a number from 0 on"),
        ("crash(at=1, how=unsent, seconds=-1)", "seconds must be a number from 0 on"),
    ],
)
def test_a_plan_that_cannot_be_run_is_an_error(plan: str, error: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        replay(program(copy), plan)

    assert error in str(caught.value)


@pytest.mark.parametrize("limits", [{"quiet": 0}, {"timeout": float("nan")}, {"requests": -1}])
def test_limits_are_positive(limits: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(limits))} is .*: pass a positive number"):
        RunLimits(**limits)  # type: ignore[arg-type]


def test_a_program_that_never_stops_sending_requests_ends_the_run() -> None:
    async def hot(client: dynkube.Client) -> None:
        while True:
            await client.resource("configmaps").list(namespace="default")

    with pytest.raises(InvalidInput, match="the program has sent more than 200 requests"):
        perturb(program(hot), limits=RunLimits(requests=200))
