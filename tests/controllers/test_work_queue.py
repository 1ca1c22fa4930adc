"""The work queue: deduplication, delays, priorities, shutdown. Most cases are those of client-go's and
controller-runtime's queues.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress

import pytest
import trio
import trio.testing

from dynkube.controllers import ExponentialBackoff, WorkQueue
from dynkube.errors import ClosedError, InvalidInput

LOW = -100


async def take(queue: WorkQueue[str], count: int) -> list[str]:
    """Take keys without marking them as done; no time may pass."""
    with trio.fail_after(0.001):
        return [await queue.get() for _ in range(count)]


async def taken(queue: WorkQueue[str]) -> list[str]:
    """Take all ready keys, and mark them as done."""
    keys = []
    while len(queue):
        keys += await take(queue, 1)
        queue.done(keys[-1])
    return keys


async def test_many_producers_and_workers_process_each_key_but_never_concurrently() -> None:
    queue: WorkQueue[int] = WorkQueue()
    running, processed = set[int](), Counter[int]()

    async def produce(producer: int) -> None:
        for number in range(50):
            queue.add(number + producer % 2)
            await trio.sleep(0.001)

    async def work() -> None:
        with suppress(ClosedError):
            while True:
                async with queue.item() as key:
                    assert key not in running
                    running.add(key)
                    await trio.sleep(0.003)
                    running.remove(key)
                    processed[key] += 1

    async with trio.open_nursery() as workers:
        for _ in range(10):
            workers.start_soon(work)
        async with trio.open_nursery() as producers:
            for number in range(50):
                producers.start_soon(produce, number)
        await queue.drain()
        assert running == set()
    assert processed.keys() == set(range(51))


async def test_a_key_that_is_added_again_while_it_waits_waits_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in ("a", "b", "a"):
        queue.add(key)

    assert (len(queue), queue.statistics().adds) == (2, 2)
    assert await taken(queue) == ["a", "b"]


async def test_a_key_that_is_added_while_it_is_processed_is_processed_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await take(queue, 1)

    for _ in range(3):
        queue.add("a")
    assert len(queue) == 0
    queue.done("a")

    assert await taken(queue) == ["a"]


async def test_a_waiting_task_gets_an_added_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    got: list[str] = []

    async def work() -> None:
        got.append(await queue.get())

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        for key in ("a", "b", "c"):
            queue.add(key)
    assert sorted(got) == ["a", "b", "c"]


async def test_a_cancelled_wait_takes_no_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    with trio.move_on_after(1):
        await queue.get()
    queue.add("a")
    with trio.move_on_after(0) as scope:
        scope.cancel()
        await queue.get()

    assert (scope.cancelled_caught, await taken(queue)) == (True, ["a"])


@pytest.mark.parametrize("after", [0, 1])
async def test_if_a_task_that_was_woken_for_a_key_is_cancelled_another_takes_it(after: float) -> None:
    queue: WorkQueue[str] = WorkQueue()
    got: list[tuple[str, int]] = []

    async def work(number: int) -> None:
        with scopes[number]:
            got.append((await queue.get(), number))

    scopes = [trio.CancelScope() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(work, number)
            await trio.testing.wait_all_tasks_blocked()
        queue.add("a", after=after)
        scopes[0].cancel()
        scopes[1].cancel()
    assert got == [("a", 2)]


# ── delays ───────────────────────────────────────────────────────────────────────────────────


async def test_a_delayed_key_is_taken_at_its_time() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("late", after=5)
    queue.add("soon", after=1)
    assert (len(queue), queue.statistics().delayed) == (0, 2)

    times = [(await queue.get(), trio.current_time()) for _ in range(2)]

    assert times == [("soon", 1), ("late", 5)]


async def test_the_earlier_time_of_a_delayed_key_applies() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for after in (10, 3, 7):
        queue.add("a", after=after)

    assert (await queue.get(), trio.current_time()) == ("a", 3)
    queue.done("a")
    with trio.move_on_after(100) as scope:
        await queue.get()
    assert scope.cancelled_caught


async def test_a_delayed_key_that_is_added_without_delay_is_ready_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", after=10)
    queue.add("a")

    assert await taken(queue) == ["a"]
    await trio.sleep(20)
    assert await taken(queue) == []


async def test_a_waiting_task_wakes_up_for_a_key_with_a_shorter_delay() -> None:
    queue: WorkQueue[str] = WorkQueue()
    times: dict[str, float] = {}

    async def work() -> None:
        while True:
            key = await queue.get()
            times[key] = trio.current_time()

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(work)
        queue.add("late", after=10)
        await trio.sleep(1)
        queue.add("soon", after=2)
        await trio.sleep(100)
        nursery.cancel_scope.cancel()
    assert times == {"soon": 3, "late": 10}


async def test_delayed_keys_are_taken_even_if_the_task_that_waited_for_them_is_cancelled() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", after=10)
    got: list[tuple[str, float]] = []

    async def work() -> None:
        got.append((await queue.get(), trio.current_time()))

    async with trio.open_nursery() as nursery:
        with trio.CancelScope(deadline=trio.current_time() + 5):
            nursery.start_soon(work)
            await queue.get()
    assert got == [("a", 10)]


async def test_a_key_that_is_added_with_a_delay_while_it_is_processed_keeps_its_time() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await take(queue, 1)
    queue.add("a", after=5)
    await trio.sleep(1)
    queue.done("a")
    assert len(queue) == 0

    assert (await queue.get(), trio.current_time()) == ("a", 5)


async def test_the_delay_of_a_failed_key_grows_until_it_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(rate_limiter=ExponentialBackoff(1, 100))
    waits = []
    for _ in range(4):
        queue.add_rate_limited("a")
        before = trio.current_time()
        queue.done(await queue.get())
        waits.append(trio.current_time() - before)

    assert (waits, queue.failures("a"), queue.statistics().retries) == ([1, 2, 4, 8], 4, 4)
    queue.forget("a")
    assert queue.failures("a") == 0


# ── priorities ───────────────────────────────────────────────────────────────────────────────


async def test_keys_of_higher_priority_are_taken_first() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key, priority in (("low", LOW), ("a", 0), ("high", 7), ("b", 0)):
        queue.add(key, priority=priority)

    assert queue.statistics().depth == {7: 1, 0: 2, LOW: 1}
    assert await taken(queue) == ["high", "a", "b", "low"]


async def test_the_highest_requested_priority_applies() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("raised", priority=LOW)
    queue.add("other")
    queue.add("raised", priority=1)
    queue.add("raised", priority=LOW)

    assert await taken(queue) == ["raised", "other"]


async def test_a_delayed_key_keeps_its_highest_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("raised", priority=5, after=1)
    queue.add("raised", priority=LOW)
    queue.add("other", priority=1)

    assert await taken(queue) == ["raised", "other"]


async def test_no_ready_key_is_overtaken_for_more_than_60_s() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("low", priority=LOW)
    began = trio.current_time()
    for number in range(1000):
        queue.add(f"high-{number}", priority=9)
        queue.add(f"high-{number}-too", priority=9)
        key = await queue.get()
        await trio.sleep(0.5)
        queue.done(key)
        if key == "low":
            break

    assert trio.current_time() - began == pytest.approx(60.5)


async def test_a_key_that_became_ready_while_another_was_processed_comes_before_that_one() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("again")
    key = await queue.get()
    queue.add("again", after=40)
    queue.add("low", after=1, priority=LOW)
    await trio.sleep(50)
    queue.done(key)
    for number in range(100):
        queue.add(f"high-{number}", priority=9)
        key = await queue.get()
        if key == "low":
            break
        await trio.sleep(1)
        queue.done(key)

    assert trio.current_time() - 1 == pytest.approx(60)


async def test_keys_that_have_waited_long_are_taken_in_the_order_in_which_they_became_ready() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("delayed", priority=LOW, after=10)
    queue.add("first", priority=LOW)
    await trio.sleep(20)
    queue.add("high", priority=1)
    await trio.sleep(100)
    queue.add("new", priority=9)

    assert await taken(queue) == ["first", "delayed", "high", "new"]


async def test_priorities_may_apply_for_ever() -> None:
    queue: WorkQueue[str] = WorkQueue(max_overtaking=math.inf)
    queue.add("low", priority=LOW)
    await trio.sleep(10_000)
    queue.add("high")

    assert await taken(queue) == ["high", "low"]


# ── the end ──────────────────────────────────────────────────────────────────────────────────


async def test_a_closed_queue_returns_ready_keys_and_accepts_none() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("delayed", after=1)
    queue.close()
    queue.add("b")
    queue.add_rate_limited("c")

    assert (await take(queue, 1), queue.statistics().delayed) == (["a"], 0)
    with pytest.raises(ClosedError):
        await queue.get()


@pytest.mark.scenario("K25")
async def test_keys_added_before_the_first_worker_and_just_before_the_end_are_processed_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    processed: list[str] = []

    async def work() -> None:
        with suppress(ClosedError):
            while True:
                async with queue.item() as key:
                    processed.append(key)

    queue.add("early")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        assert processed == ["early"]
        queue.add("late")
        await queue.drain()

    assert processed == ["early", "late"]


async def test_closing_ends_all_waiting_tasks() -> None:
    queue: WorkQueue[str] = WorkQueue()
    ended = 0

    async def work() -> None:
        nonlocal ended
        with pytest.raises(ClosedError):
            await queue.get()
        ended += 1

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        queue.close()
    assert ended == 3


async def test_draining_waits_for_keys_in_progress_and_those_added_meanwhile() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await take(queue, 1)
    queue.add("a")

    async def end() -> None:
        await trio.sleep(5)
        queue.done("a")
        await trio.sleep(5)
        assert await taken(queue) == ["a"]

    async with trio.open_nursery() as nursery:
        nursery.start_soon(end)
        await queue.drain()
        assert trio.current_time() == 10


async def test_an_empty_queue_is_drained_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("delayed", after=1)
    with trio.fail_after(0.001):
        await queue.drain()
    assert queue.closed


async def test_a_discarded_key_is_neither_taken_nor_waited_for() -> None:
    queue: WorkQueue[str] = WorkQueue(rate_limiter=ExponentialBackoff(1, 100))
    for key in ("a", "b", "busy"):
        queue.add(key)
    queue.add("delayed", after=1)
    assert await take(queue, 1) == ["a"]
    queue.add("a")
    queue.add_rate_limited("failed")

    for key in ("a", "b", "delayed", "failed", "unknown"):
        queue.discard(key)
    queue.done("a")
    await trio.sleep(10)

    assert (await taken(queue), queue.failures("failed")) == (["busy"], 0)


# ── numbers and bad input ────────────────────────────────────────────────────────────────────


async def test_the_statistics_contain_waiting_and_processing_times() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", after=3)
    queue.add("b")
    await trio.sleep(5)
    await take(queue, 2)  # b waited for 5 s, and a for 2
    await trio.sleep(1)
    queue.done("a")
    await trio.sleep(1)

    numbers = queue.statistics()

    assert (numbers.taken, numbers.queue_seconds, numbers.work_seconds) == (2, 7, 1)
    assert (numbers.processing, numbers.unfinished_work_seconds, numbers.longest_running_seconds) == (1, 2, 2)


async def test_many_changes_of_a_delayed_key_leave_nothing_behind() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(10_000):
        queue.add("a", after=20_000 - number)

    assert len(queue._times) < 200
    assert (await queue.get(), trio.current_time()) == ("a", 10_001)


async def test_done_for_a_key_that_is_not_in_progress_is_an_error() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")

    with pytest.raises(InvalidInput, match="'a' is not being processed"):
        queue.done("a")


@pytest.mark.parametrize("after", [math.inf, math.nan])
async def test_an_invalid_delay_is_rejected(after: float) -> None:
    with pytest.raises(InvalidInput, match="pass a finite number"):
        WorkQueue[str]().add("a", after=after)


def test_an_invalid_max_overtaking_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="max_overtaking=nan"):
        WorkQueue[str](max_overtaking=math.nan)
