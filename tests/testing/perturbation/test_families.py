"""What each family does to a program."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio

import dynkube
from dynkube.controllers import Controller, LeaderElection, run
from dynkube.errors import NoMatch, NotFound
from dynkube_testing import PerturbedRun
from dynkube_testing._perturbation.oracles import Reference, problems
from tests.controllers.kit import START, Calls
from tests.informers.kit import WIDGETS, crd, widget
from tests.testing.perturbation.kit import config, copy, play, secret, timeline, two_configs

PLANS = [
    "crash(at=1, how=unsent, seconds=5)",
    "crash(at=2, how=processed, seconds=30)",
    "stale(at=2, back=2, seconds=60)",
    "lag(at=2, resource=configmaps, seconds=60)",
    "unobserved(at=2, resource=configmaps, seconds=60)",
    "conflict(at=2)",
    *(f"refuse(at=1, how={status})" for status in (409, 429, 500, 503, 504)),
    "refuse(at=1, how=503, seconds=60)",
    "lost_answer(at=1)",
    "partition(at=2, seconds=120)",
]


@pytest.mark.parametrize("plan", PLANS)
def test_a_correct_program_ends_as_without_the_perturbation(plan: str) -> None:
    reference = Reference.of([play("nothing"), play("nothing # seed 1")])

    outcome = play(plan)

    assert outcome.applied == (True,)
    assert [text for text in timeline(outcome, "fault") if text.startswith(plan)]
    assert problems(outcome, reference) == []


@pytest.mark.parametrize(("how", "status"), [("unsent", 201), ("processed", 200)])
def test_a_program_is_killed_before_a_write_is_sent_or_before_it_is_answered(how: str, status: int) -> None:
    lines = timeline(play(f"crash(at=1, how={how}, seconds=5)"), "program")

    restarted = lines[lines.index("is killed") :]
    assert restarted[1] == "starts"
    written = next(line for line in restarted if line.startswith("PATCH"))
    assert written == f"PATCH /api/v1/namespaces/default/secrets/a: {status}"  # 200: it had been created


async def watch_configs(client: dynkube.Client) -> None:
    """Write once, and then watch."""
    async with client.informer("configmaps", namespace="default") as configs:
        await configs.wait_synced()
        await client.resource("secrets").apply(secret("written"), field_manager="watch")
        await trio.sleep_forever()


async def one_config_after_the_other(run: PerturbedRun) -> None:
    run.server.create(config("a"))
    run.start(copy)
    await run.settle()
    run.server.delete("configmaps", "a")
    run.server.create(config("b"))
    await run.settle()


def test_a_stale_server_shows_a_deleted_object_for_some_time_and_never_goes_back() -> None:
    lines = timeline(play("stale(at=2, back=2, seconds=60)", one_config_after_the_other), "program")

    restarted = lines[lines.index("is killed") :]
    assert [line for line in restarted if line.startswith("sees")] == [
        "sees configmaps default/a: DELETED",
        "sees configmaps default/b: ADDED",
    ]


def test_events_of_one_resource_come_late() -> None:
    entries = play("lag(at=1, resource=configmaps, seconds=60)").recording.entries
    first = {entry.text: entry.time for entry in reversed(entries)}

    assert first["sees configmaps default/a: ADDED"] == first["lag(at=1, resource=configmaps, seconds=60)"] + 60


def test_what_is_not_observed_is_listed_again() -> None:
    lines = timeline(play("unobserved(at=1, resource=configmaps, seconds=60)"), "program")

    assert "sees configmaps default/a: ADDED" not in lines  # it was in a list
    assert [line for line in lines if line.startswith("watch") and line.endswith("200")]


async def led(run: PerturbedRun) -> None:
    run.server.create(crd())
    run.start(leader)
    run.server.create(widget("a"))
    await run.settle(quiet=100)


async def leader(client: dynkube.Client) -> None:
    controller = Controller(WIDGETS, Calls())
    await run(client, controller, election=LeaderElection("widgets"), shutdown_timeout=0, now=lambda: START)


def test_a_lost_lease_ends_a_leader_until_it_has_it_again() -> None:
    outcome = play("lost_lease(at=3, seconds=20)", led)

    lines = timeline(outcome, "program")
    assert outcome.applied == (True,)
    assert len(outcome.recording.exits) == 1
    assert lines.count("starts") == 2


def test_a_crd_comes_back_with_its_objects_as_from_a_backup() -> None:
    outcome = play("crd(at=1, resource=widgets.example.com, seconds=60)", with_a_crd)

    assert outcome.failure is None
    assert "crd(at=1, resource=widgets.example.com, seconds=60): it is back" in timeline(outcome, "fault")
    assert "widgets.example.com default/a" in outcome.states[-1]


async def with_a_crd(run: PerturbedRun) -> None:
    run.server.create(crd())
    run.server.create({**widget("a"), "metadata": {"name": "a", "finalizers": ["example.com/f"]}})
    run.start(watch_configs)
    await run.settle()


def replace(run: PerturbedRun, name: str, finalizers: list[str], **fields: object) -> None:
    """Replace the finalizers and other fields of a widget, if it exists."""
    with suppress(NotFound, NoMatch):
        obj = run.server.get(WIDGETS, name, "default")
        run.server.update({**obj, **fields, "metadata": {**obj["metadata"], "finalizers": finalizers}})


async def changed_while_it_is_removed(run: PerturbedRun) -> None:
    run.server.create(crd())
    for name in ("changed", "deleted", "deleted-over-http"):
        run.server.create({**widget(name), "metadata": {"name": name, "finalizers": ["example.com/f"]}})
    run.start(watch_configs)
    await trio.sleep(5)  # the plan removes the CRD for a minute, and the finalizers hold it up
    replace(run, "changed", ["example.com/f"], spec={"size": 7})
    run.server.delete(WIDGETS, "deleted")
    await run.client.resource(WIDGETS).delete("deleted-over-http", namespace="default")
    await trio.sleep(60)
    replace(run, "deleted", [])
    replace(run, "deleted-over-http", [])
    await run.settle()


@pytest.mark.parametrize("plan", ["nothing", "crd(at=1, resource=widgets.example.com, seconds=60)"])
def test_what_users_do_while_a_crd_is_removed_is_not_lost(plan: str) -> None:
    outcome = play(plan, changed_while_it_is_removed)

    assert outcome.failure is None
    ((name, left),) = [each for each in outcome.states[-1].items() if each[0].startswith("widgets")]
    assert name == "widgets.example.com default/changed"
    assert left["spec"]["size"] == 7
    assert left["metadata"]["finalizers"] == ["example.com/f"]


def test_a_scenario_that_needs_a_crd_while_it_is_removed_is_no_finding() -> None:
    async def scenario(run: PerturbedRun) -> None:
        run.server.create(crd())
        run.start(watch_configs)
        await trio.sleep(5)
        run.server.create(widget("a"))
        await run.settle()

    outcome = play("crd(at=1, resource=widgets.example.com, seconds=60)", scenario)

    assert outcome.interrupted
    assert problems(outcome, Reference.of([play("nothing", scenario)])) == []


def test_several_perturbations_happen_in_one_run() -> None:
    outcome = play("lost_answer(at=1) + lag(at=2, resource=configmaps, seconds=30)", two_configs)

    assert outcome.applied == (True, True)
