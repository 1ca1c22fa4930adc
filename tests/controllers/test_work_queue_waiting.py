"""Workers that wait for a key: when they get it, and what ends their wait. Most cases are those of client-go's and
controller-runtime's queues.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from random import Random

import pytest
import trio
import trio.testing

from dynkube.controllers import WorkQueue
from dynkube.errors import ClosedError

LOW = -100
SECONDS = (0.5, 1.0, 1.5)  # few and exact, so that many things happen at the same time


@asynccontextmanager
async def waiting(queue: WorkQueue[str]) -> AsyncIterator[list[tuple[str, float]]]:
    """A worker that waits for keys and never marks them as done; the keys that it has taken, with the times."""
    taken: list[tuple[str, float]] = []

    async def work() -> None:
        while True:
            taken.append((await queue.get(), trio.current_time()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        yield taken
        nursery.cancel_scope.cancel()


async def test_a_waiting_worker_takes_a_key_that_was_added_again_as_soon_as_it_is_done() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()
    queue.add("a")

    async with waiting(queue) as taken:
        await trio.sleep(5)
        assert taken == []
        queue.done("a")
        await trio.sleep(5)

    assert taken == [("a", 5)]


async def test_a_key_that_is_processed_does_not_hold_up_the_keys_behind_it() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()
    queue.add("a", priority=9)
    queue.add("b")

    assert await queue.get() == "b"
    queue.add("c")
    queue.done("a")
    assert [await queue.get() for _ in range(2)] == ["a", "c"]


async def test_a_waiting_worker_gets_a_delayed_key_at_once_if_it_is_added_without_delay() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with waiting(queue) as taken:
        queue.add("a", after=60)
        await trio.sleep(1)
        queue.add("a")
        await trio.sleep(100)

    assert taken == [("a", 1)]


async def test_a_ready_key_that_is_added_again_with_a_delay_stays_ready() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("a", after=3600)

    async with waiting(queue) as taken:
        await trio.sleep(7200)

    assert taken == [("a", 0)]


async def test_delayed_keys_that_became_ready_meanwhile_are_taken_in_the_order_of_their_times() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key, after in (("last", 1), ("second", 0.5), ("first", 0.25)):
        queue.add(key, after=after)
    await trio.sleep(2)

    assert [await queue.get() for _ in range(3)] == ["first", "second", "last"]


async def test_closing_while_keys_are_handed_out_ends_all_workers() -> None:
    for seed in range(50):
        queue, random = WorkQueue[int](), Random(seed)

        async def work(queue: WorkQueue[int] = queue, random: Random = random) -> None:
            with suppress(ClosedError):
                while True:
                    queue.add(random.randrange(1000), priority=random.randrange(100))
                    await queue.get()

        with trio.fail_after(1):
            async with trio.open_nursery() as workers:
                for _ in range(20):
                    workers.start_soon(work)
                for _ in range(seed):
                    await trio.lowlevel.checkpoint()
                queue.close()


@pytest.mark.parametrize("seed", range(20))
async def test_a_key_is_taken_when_it_becomes_ready_although_waits_are_cancelled_at_random(seed: int) -> None:
    queue, random, due = WorkQueue[int](), Random(seed), dict[int, float]()

    async def work(*, cancelled: bool) -> None:
        while True:
            with trio.move_on_after(random.choice(SECONDS) if cancelled else math.inf):
                async with queue.item() as key:
                    assert due.pop(key) == trio.current_time()
            await trio.sleep(random.choice(SECONDS) if cancelled else 0)

    async with trio.open_nursery() as nursery:
        for cancelled in (True, True, False):  # one of them always waits
            nursery.start_soon(partial(work, cancelled=cancelled))
        for _ in range(200):
            key, after = random.randrange(5), random.choice([0, *SECONDS])
            due[key] = min(due.get(key, math.inf), trio.current_time() + after)
            queue.add(key, after=after, priority=random.choice([LOW, 0]))
            await trio.sleep(random.choice([0, *SECONDS]))
        await trio.sleep(10)
        nursery.cancel_scope.cancel()

    assert due == {}


async def test_a_drain_that_is_cancelled_stops_waiting_and_its_keys_may_still_end() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()

    with trio.move_on_after(5) as scope:
        await queue.drain()
    assert (scope.cancelled_caught, trio.current_time()) == (True, 5)

    queue.done("a")
    with trio.fail_after(0.001):
        await queue.drain()


# ── statistics ───────────────────────────────────────────────────────────────────────────────


async def test_delayed_keys_count_for_the_depth_from_their_time_on_and_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", priority=1, after=5)
    queue.add("b")
    before = queue.statistics()
    await trio.sleep(5)
    after = queue.statistics()
    queue.add("a")

    assert (before.depth, before.delayed) == ({0: 1}, 1)
    assert (after.depth, after.delayed) == ({1: 1, 0: 1}, 0)
    assert (queue.statistics().depth, queue.statistics().adds) == (after.depth, 2)


async def test_a_key_added_several_times_while_it_is_processed_is_one_add_and_waits_from_its_end() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()
    for _ in range(5):
        queue.add("a")
    await trio.sleep(3)
    queue.done("a")
    await trio.sleep(2)
    await queue.get()

    numbers = queue.statistics()

    assert (numbers.adds, numbers.taken) == (2, 2)
    assert (numbers.work_seconds, numbers.queue_seconds) == (3, 2)
