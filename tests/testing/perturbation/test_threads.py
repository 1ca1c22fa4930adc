"""Programs that block in threads, in virtual time."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest
import trio
from trio.lowlevel import current_trio_token

import dynkube
from dynkube.controllers import BlockingContext, Controller, ObjectKey
from dynkube.errors import InvalidInput
from dynkube_testing import PerturbedRun, RunLimits, perturb
from tests.testing.perturbation.kit import play, timeline
from tests.testing.perturbation.zoo.kit import configmap, custom, definition, running

SLOW = 0.005  # real seconds of a reconcile: the clock would jump to the next deadline in it


def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
    """Do it right, and slowly."""
    fleet = ctx.get()
    if fleet is None:
        return
    time.sleep(SLOW)
    ctx.apply_owned([configmap({"name": f"{key.name}-{number}"}) for number in range(fleet["spec"]["size"])])
    time.sleep(SLOW)
    ctx.set_status(fleet, {"size": fleet["spec"]["size"]})


FLEETS = Controller("fleets.example.com", reconcile, owns=["configmaps"], concurrency=3, timeout=60)


async def blocking(run: PerturbedRun, *names: str, controller: Controller = FLEETS) -> None:
    run.server.create(definition("Fleet"))
    run.start(running(controller))
    for name in names or ("a", "b", "c"):
        run.server.create(custom("Fleet", name, size=2))
    await run.settle()


def test_a_blocking_reconcile_that_is_correct_has_no_findings() -> None:
    report = perturb(blocking, plans=6)

    assert (report.findings, report.plans) == ((), 6)


@pytest.mark.parametrize("plan", ["nothing", "crash(at=2, how=processed, seconds=5)", "partition(at=2, seconds=120)"])
def test_threads_do_the_same_in_each_run_of_a_plan(plan: str) -> None:
    first, second = (play(plan, blocking).recording for _ in range(2))

    assert [*first.entries] == [*second.entries]
    assert first.writes


def test_the_clock_stands_still_while_a_thread_runs() -> None:
    outcome = play("nothing", blocking)

    writes = [entry.time for entry in outcome.recording.entries if "PATCH" in entry.text]
    assert len(writes) == 9
    assert max(writes) < 1


async def ask_from_threads(client: dynkube.Client) -> None:
    """Call the event loop in each way there is, and end."""

    def ask() -> None:
        for token in (None, token_of_run):
            for _ in range(3):
                time.sleep(SLOW)
                seen.append(trio.from_thread.run_sync(trio.current_time, trio_token=token))
                trio.from_thread.run(partial(trio.sleep, 10), trio_token=token)

    token_of_run, seen = current_trio_token(), list[float]()
    for abandon in (False, True):
        await trio.to_thread.run_sync(ask, abandon_on_cancel=abandon)
    assert [round(time - seen[0], 3) for time in seen] == [10.0 * number for number in range(12)]
    await client.resource("configmaps").create(configmap({"name": "done"}))
    await trio.sleep_forever()


def test_a_thread_takes_virtual_time_only_in_its_calls() -> None:
    async def scenario(run: PerturbedRun) -> None:
        run.start(ask_from_threads)
        await run.settle()

    outcome = play("nothing", scenario)

    assert outcome.recording.exits == []
    assert "configmaps default/done" in outcome.states[0]


def test_threads_that_wait_for_each_other_are_an_error_that_says_where() -> None:
    lock = threading.Lock()

    def exclusive(ctx: BlockingContext, key: ObjectKey) -> None:
        with lock:
            ctx.apply(configmap({"name": key.name}))

    controller = Controller("fleets.example.com", exclusive, concurrency=2)
    with pytest.raises(InvalidInput, match=r"(?s)neither ended nor called its context for 0\.5 s.*with lock:"):
        play("nothing", partial(blocking, controller=controller), thread=0.5)


def test_a_thread_of_a_killed_program_ends_at_its_next_call() -> None:
    lines = timeline(play("crash(at=1, how=unsent, seconds=5)", blocking), "program")

    killed = lines.index("is killed")
    assert lines[killed + 1] == "starts"
    assert not [line for line in lines[killed:] if line.startswith("ends")]


def test_the_limit_for_threads_is_positive() -> None:
    with pytest.raises(InvalidInput, match="thread is 0: pass a positive number"):
        RunLimits(thread=0)
