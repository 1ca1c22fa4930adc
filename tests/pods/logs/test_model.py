"""Random lives of a container: each line is read once and in order, whatever is cut, and however late statuses are."""

from __future__ import annotations

from random import Random

import pytest
import trio

import dynkube
from dynkube.errors import DynkubeError
from dynkube.pods._logs import stream as stream_module
from dynkube.pods._logs.lines import rfc3339
from dynkube.pods._logs.position import Position
from dynkube.pods._logs.sight import Sight
from dynkube.pods._logs.steps import Outcome, Progress, Read, Step, after, next_step
from dynkube_testing import APIServer
from tests.pods.logs.kubelet import Clock, Kubelet, TearingTransport, pod

SEEDS = range(15)


async def _live(kubelet: Kubelet, transport: TearingTransport, random: Random) -> None:
    """Play a container that crashes some times, and cut connections meanwhile.

    The first restart is immediate, and each further one ten seconds after the crash, as by a kubelet.
    """
    for run in range(random.randint(1, 4)):
        lag = random.choice([0, 0, 0.5, 3])  # seconds until the API server has the status
        kubelet.start(publish=not lag)
        for step in range(random.randint(0, 8)):
            kubelet.write(*(f"{run}.{step}.{number}" for number in range(random.randint(1, 4))))
            await trio.sleep(random.choice([0, 0.001, 0.7, 5]))
            if random.random() < 0.4:
                transport.cut(cleanly=random.random() < 0.4)
        if random.random() < 0.7:
            await trio.sleep(lag)
            kubelet.publish()
            await trio.sleep(random.choice([0.01, 100, 400]))
        kubelet.exit(1, publish=False)
        if run or random.random() < 0.3:
            await trio.sleep(random.choice([0, 2]))
            kubelet.crash_loop()
            await trio.sleep(10)
    kubelet.publish("Failed")


async def _read(seed: int) -> tuple[list[str], list[str]]:
    """Return the lines that were read and those that were written, of one random life."""
    random = Random(seed)
    async with APIServer(now=Clock()) as server:
        server.create(pod(restartPolicy="OnFailure"))
        transport = TearingTransport(server.transport(), random)
        kubelet = Kubelet(server)
        async with dynkube.connect(url=server.url, transport=transport) as client, trio.open_nursery() as nursery:
            nursery.start_soon(_live, kubelet, transport, random)
            with trio.fail_after(3600):
                async with client.pod("web").logs(follow=True) as lines:
                    return [str(line) async for line in lines], kubelet.lines
    raise AssertionError


@pytest.mark.parametrize("seed", SEEDS)
async def test_each_line_is_read_once_and_in_order(seed: int) -> None:
    read, written = await _read(seed)

    assert read == written


# ── bugs that these lives must find ──────────────────────────────────────────────────────────


def _everything_is_new(self: Position, timestamp: int | None) -> bool:
    return True


def _count_no_equal_ones(self: Position, timestamp: int | None) -> bool:
    new = is_new(self, timestamp)
    self._again = {}
    return new


def _begin_a_second_later(self: Position) -> str | None:
    at = None if self._low is None else rfc3339(self._low)
    return None if at is None else f"{at[:17]}{min(59, int(at[17:19]) + 1):02d}Z"


def _never_the_previous_run(progress: Progress, sight: Sight | None) -> Step:
    step = next_step(progress, sight)
    return Read(run=step.run, follow=True) if isinstance(step, Read) and step.previous else step


def _never_checked(progress: Progress, sight: Sight | None) -> Step:
    step = next_step(progress, sight)
    return (
        step
        if not isinstance(step, Read)
        else Read(run=step.run, follow=step.follow, previous=step.previous, final=step.final)
    )


def _complete_too_early(progress: Progress, step: Step, outcome: Outcome) -> Progress:
    following = after(progress, step, outcome)
    if outcome is Outcome.COMPLETE and isinstance(step, Read) and not step.previous:
        return Progress(run=step.run, complete=True)
    return following


is_new = Position.is_new
BUGS: list[tuple[object, str, object]] = [
    (Position, "is_new", _everything_is_new),
    (Position, "is_new", _count_no_equal_ones),
    (Position, "since", property(_begin_a_second_later)),
    (stream_module, "next_step", _never_the_previous_run),
    (stream_module, "next_step", _never_checked),
    (stream_module, "after", _complete_too_early),
]


@pytest.mark.parametrize(("owner", "name", "bug"), BUGS, ids=lambda value: getattr(value, "__name__", None))
async def test_a_bug_is_found(owner: object, name: str, bug: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, name, bug)
    for seed in range(60):
        try:
            read, written = await _read(seed)
        except (DynkubeError, ExceptionGroup):
            return
        if read != written:
            return
    pytest.fail("all lives were read correctly")
