"""Programs in processes of their own, which reach the server over TCP and are perturbed in real time."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import PerturbationPlan, PerturbedRun, RunLimits, perturb, replay
from dynkube_testing._perturbation.families import Points, plans_for
from dynkube_testing._perturbation.perturb import new_server
from dynkube_testing._perturbation.recording import Write
from dynkube_testing._perturbation.run import Outcome, played
from tests.testing.perturbation.kit import Scenario, play

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

LAUNCHER = Path(__file__).with_name("launcher.py")
SOON = RunLimits(quiet=2, timeout=30)


def launching(how: str, **env: str) -> Scenario:
    async def scenario(run: PerturbedRun) -> None:
        run.start_command([sys.executable, str(LAUNCHER), how], env=env)
        await run.settle()

    return scenario


def starting(command: Any) -> Scenario:
    async def scenario(run: PerturbedRun) -> None:
        run.start_command(command)

    return scenario


def in_real_time(scenario: Scenario, plan: str = "nothing") -> Outcome:
    return played(scenario, PerturbationPlan.parse(plan), new_server, SOON, real_time=True)


def texts(outcome: Outcome) -> list[str]:
    return [entry.text for entry in outcome.recording.entries]


def test_a_command_that_is_killed_after_a_write_creates_its_objects_again() -> None:
    report = perturb(
        launching("generated"), plans=4, families=["crash"], seed=2, limits=SOON, max_findings=1, real_time=True
    )

    (finding,) = report.findings
    assert finding.families == {"crash"}
    assert "configmaps default/ship-<4> exists, unexpectedly" in str(finding)


def test_a_command_whose_objects_have_names_creates_no_more_of_them() -> None:
    assert replay(launching("named"), "crash(at=2, how=processed)", limits=SOON, real_time=True) is None


def test_a_killed_command_is_started_again_with_its_children_gone() -> None:
    outcome = in_real_time(launching("with-child", OWNER="me"), "crash(at=2, how=unsent)")

    started = [text for text in texts(outcome) if text in {"starts", "is killed"}]
    (printed,) = (text for text in texts(outcome) if text.startswith("prints"))
    assert started == ["starts", "is killed", "starts"]
    assert printed.endswith("of me")
    stat = Path("/proc", printed.split()[2], "stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


def test_a_command_that_ends_is_started_again_and_its_exit_code_is_shown() -> None:
    outcome = in_real_time(launching("failing"))

    assert "ends by itself: exit code 3" in texts(outcome)
    assert len(outcome.recording.exits) > 1
    with pytest.raises(InvalidInput, match="ends by itself: exit code 3, without perturbations too"):
        perturb(launching("failing"), limits=SOON, real_time=True)


def test_a_command_has_ended_although_a_child_is_left_with_its_output() -> None:
    outcome = in_real_time(sleeping(["sh", "-c", "echo last; sleep 1000 & exit 3"]))

    assert texts(outcome)[:3] == ["starts", "prints last", "ends by itself: exit code 3"]


def test_a_command_that_sends_nothing_is_not_taken_for_settled() -> None:
    async def scenario(run: PerturbedRun) -> None:
        run.start_command(["sleep", "1000"])
        await run.settle(quiet=0.2, timeout=1)

    assert in_real_time(scenario).ended == "the program has not sent its first request 1 seconds after the last change"


def test_commands_need_real_time() -> None:
    outcome = play("nothing", launching("named"))

    assert isinstance(outcome.failure, InvalidInput)
    assert "perturb(..., real_time=True)" in str(outcome.failure)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ls -l", "command is 'ls -l': pass the program and its arguments as a list of strings"),
        ([], "command is []: pass the program and its arguments as a list of strings"),
        (["ls", 1], "command is ['ls', 1]: pass the program and its arguments as a list of strings"),
        (["no-such-program"], "command 'no-such-program' is not found, or cannot be executed: pass its path"),
    ],
)
def test_bad_commands_are_named(command: Sequence[str], message: str) -> None:
    assert str(in_real_time(starting(command)).failure) == message


def test_perturbations_in_real_time_are_shorter() -> None:
    write = Write("create", "configmaps", "default/a")
    points = Points(writes=(write,), leases=0, events={}, definitions=())

    plans = plans_for(points, ["partition"], 2, Random(0), shorter=0.1)

    assert sorted(each.perturbations[0].seconds for each in plans) == [2.0, 12.0]


def test_output_is_bounded(tmp_path: Path) -> None:
    script = "print('x' * 10_000_000); print('end', flush=True); __import__('time').sleep(1000)"
    outcome = in_real_time(sleeping([sys.executable, "-c", script]))

    printed = [text for text in texts(outcome) if text.startswith("prints")]
    assert [len(text) for text in printed] == [len("prints ") + 300, len("prints end")]


def sleeping(command: Sequence[str]) -> Scenario:
    async def scenario(run: PerturbedRun) -> None:
        run.start_command(command, env={"PATH": os.environ["PATH"]})
        await trio.sleep(2)

    return scenario
