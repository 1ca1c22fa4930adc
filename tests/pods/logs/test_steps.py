"""Which request is next, by the state of the container and what was read: one row for each situation."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Unstructured
from dynkube.errors import InvalidInput
from dynkube.pods._logs.position import Position
from dynkube.pods._logs.sight import Phase, Sight, container_of, look
from dynkube.pods._logs.steps import End, Outcome, Progress, Read, Step, Wait, after, next_step
from tests.pods.logs.kubelet import pod

SECOND = 1_000_000_000


def running(run: int) -> Sight:
    return Sight(phase=Phase.RUNNING, run=run)


def ended(run: int, *, again: bool = True) -> Sight:
    return Sight(phase=Phase.ENDED, run=run, runs_again=again, reason="Error, exit code 1")


@pytest.mark.parametrize(
    ("progress", "sight", "step"),
    [
        (Progress(), None, End("the pod was deleted")),
        (Progress(), Sight(phase=Phase.WAITING, reason="ContainerCreating"), Wait("ContainerCreating")),
        (Progress(), Sight(phase=Phase.UNKNOWN), Read(run=0, follow=True)),
        (Progress(nothing=True), Sight(phase=Phase.UNKNOWN), Wait("", status_known=False)),
        (Progress(), running(0), Read(run=0, follow=True)),
        (Progress(), ended(2, again=False), Read(run=2, final=True)),
        (Progress(run=0), running(0), Read(run=0, follow=True, checked=True)),
        (Progress(run=0), ended(0), Read(run=0, final=True, checked=True)),
        (Progress(run=0, complete=True), ended(0), Wait("Error, exit code 1")),
        (Progress(run=0, complete=True), ended(0, again=False), End("Error, exit code 1")),
        (Progress(run=0, complete=True), running(1), Read(run=1, follow=True, changed=True)),
        (Progress(run=0), running(1), Read(run=1, previous=True, final=True)),
        (Progress(run=0, previous_of=1), running(1), Read(run=1, follow=True, changed=True)),
        (Progress(run=0, previous_of=1), running(2), Read(run=2, previous=True, final=True)),
        (Progress(run=0, complete=True), running(2), Read(run=2, previous=True, final=True)),
        (Progress(run=0, doubtful=True), running(0), Read(run=0, previous=True, final=True)),
        (Progress(run=0, doubtful=True, previous_of=0), running(0), Read(run=1, follow=True, changed=True)),
        (Progress(run=1), running(0), Read(run=1, follow=True, checked=True)),  # the status is behind
    ],
)
def test_the_next_step(progress: Progress, sight: Sight | None, step: Step) -> None:
    assert next_step(progress, sight) == step


@pytest.mark.parametrize(
    ("step", "outcome", "progress"),
    [
        (Read(run=1, follow=True), Outcome.COMPLETE, Progress(run=1)),  # perhaps it was cut
        (Read(run=1, final=True), Outcome.COMPLETE, Progress(run=1, complete=True)),
        (Read(run=1, final=True), Outcome.CUT, Progress(run=1)),
        (Read(run=1, follow=True), Outcome.FAILED, Progress(run=0)),
        (Read(run=1, follow=True), Outcome.NO_LOG, Progress(run=0, nothing=True)),
        (Read(run=0, checked=True), Outcome.OTHER_RUN, Progress(run=0, doubtful=True)),
        (Read(run=1, previous=True), Outcome.COMPLETE, Progress(run=0, previous_of=1)),
        (Read(run=1, previous=True), Outcome.NO_LOG, Progress(run=0, previous_of=1)),
        (Read(run=1, previous=True), Outcome.CUT, Progress(run=0)),
    ],
)
def test_the_progress_after_a_step(step: Step, outcome: Outcome, progress: Progress) -> None:
    assert after(Progress(run=0), step, outcome) == progress


CRASHED = {"terminated": {"exitCode": 1, "reason": "Error"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


@pytest.mark.parametrize(
    ("policy", "state", "phase", "again"),
    [
        ("Always", DONE, "Running", True),
        ("OnFailure", DONE, "Running", False),
        ("OnFailure", CRASHED, "Running", True),
        ("Never", CRASHED, "Running", False),
        ("Always", CRASHED, "Failed", False),
    ],
)
def test_whether_a_container_runs_again(policy: str, state: dict[str, Any], phase: str, again: bool) -> None:
    status = {"phase": phase, "containerStatuses": [{"name": "app", "restartCount": 3, "state": state}]}

    sight = look(Unstructured({**pod(restartPolicy=policy), "status": status}), "app")

    assert (sight.phase, sight.run, sight.runs_again) == (Phase.ENDED, 3, again)


def test_the_reason_of_a_pod_without_a_node_is_that_of_the_scheduler() -> None:
    unmet = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}

    sight = look(Unstructured({**pod(), "status": {"phase": "Pending", "conditions": [unmet]}}), "app")

    assert (sight.phase, sight.reason) == (Phase.UNKNOWN, "Pending: Unschedulable: 0/3 nodes")


def test_a_container_is_the_named_the_default_or_the_only_one() -> None:
    two = pod("web", "app", "proxy")
    default = {
        **two,
        "metadata": {**two["metadata"], "annotations": {"kubectl.kubernetes.io/default-container": "app"}},
    }

    assert container_of(Unstructured(pod()), None) == "app"
    assert container_of(Unstructured(two), "proxy") == "proxy"
    assert container_of(Unstructured(default), None) == "app"
    with pytest.raises(InvalidInput, match=r"^pod default/web has the containers app, proxy: pass container=$"):
        container_of(Unstructured(two), None)
    with pytest.raises(InvalidInput, match=r"^pod default/web has no container 'web'; it has app, proxy$"):
        container_of(Unstructured(two), "web")


def test_lines_come_again_from_the_second_of_the_last_ones_and_are_counted() -> None:
    position, times = Position(), [10 * SECOND, 12 * SECOND + 5, 12 * SECOND + 5, 12 * SECOND + 3]
    assert all(map(position.is_new, times))

    position.replay()

    assert position.since == "1970-01-01T00:00:11Z"
    assert [position.is_new(time) for time in [*times[1:], 12 * SECOND + 5, 11 * SECOND]] == [False] * 3 + [True] * 2


def test_what_is_remembered_is_bounded() -> None:
    position = Position()
    for number in range(100_000):
        position.is_new(10 * SECOND + number)

    position.replay()

    assert len(position._seen) <= 20_000
    assert not any(map(position.is_new, range(10 * SECOND, 10 * SECOND + 100_000)))
    assert position.is_new(10 * SECOND + 100_000)
