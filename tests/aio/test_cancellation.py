"""Cancelling an asyncio task cancels its call in the trio thread; closing the client ends the calls that wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

import dynkube
import dynkube.aio
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import AsyncioCall, in_trio, wait
from dynkube.aio._held import Held
from dynkube.aio._streams import Stream
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import Hang, ServerThread
from tests.aio.kit import in_asyncio
from tests.sync.kit import CONFIGMAPS, config_map, name_of

pytestmark = pytest.mark.real_time


class Waiting:
    """An async function that waits in the trio thread until it is cancelled, and records its end."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def __call__(self) -> None:
        self._loop.call_soon_threadsafe(self.begun.set)
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.01)
            self.log.append("cleaned up")


@in_asyncio
async def test_a_cancelled_task_waits_for_the_end_of_its_call() -> None:
    thread, function = TrioThread(), Waiting()
    task = asyncio.create_task(in_trio(thread, function.__call__))
    await function.begun.wait()

    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # a second time does not abandon the call
    with pytest.raises(asyncio.CancelledError):
        await task

    assert function.log == ["cleaned up"]
    thread.close()


@in_asyncio
async def test_a_timeout_cancels_the_call() -> None:
    thread, function = TrioThread(), Waiting()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await in_trio(thread, function.__call__)

    assert function.log in (["cleaned up"], [])  # [] if it had not begun
    thread.close()


@in_asyncio
async def test_items_received_by_a_cancelled_step_are_returned_next() -> None:
    thread, begun, loop = TrioThread(), asyncio.Event(), asyncio.get_running_loop()

    class TooLate(Stream[int]):
        async def _take(self) -> list[int]:
            loop.call_soon_threadsafe(begun.set)
            with trio.CancelScope(shield=True):
                await trio.sleep(0.01)  # it is cancelled meanwhile, but still returns a result
            return [1, 2]

    stream = TooLate(thread)
    step = asyncio.ensure_future(anext(stream))
    await begun.wait()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    begun.clear()

    assert ([await anext(stream), await anext(stream)], begun.is_set()) == ([1, 2], False)
    thread.close()


@in_asyncio
async def test_a_result_that_comes_with_the_cancellation_is_passed_on() -> None:
    thread, late = TrioThread(), list[int]()

    async def at_once() -> list[int]:
        return [1]

    call = AsyncioCall(at_once, on_late=late.extend)
    task = asyncio.create_task(wait(thread, call))
    await asyncio.sleep(0)
    while not call.over:  # blocks the event loop, so that the result cannot be received before the cancellation
        pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert late == [1]
    thread.close()


@in_asyncio
async def test_a_cancelled_wait_for_an_event_loses_nothing(cluster: ServerThread) -> None:
    async with (
        dynkube.aio.connect(url=cluster.url) as client,
        client.informer(CONFIGMAPS, namespace="default") as maps,
        maps.events() as events,
        client.resource(CONFIGMAPS).watch(namespace="default") as watch,
    ):
        for stream in (events, watch):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(stream)
        cluster.create(config_map("one"))

        assert (name_of(await anext(events)), name_of(await anext(watch))) == ("one", "one")


@in_asyncio
async def test_a_stream_is_for_one_task_at_a_time() -> None:
    thread = TrioThread()
    function = Waiting()

    class Endless(Stream[int]):
        async def _take(self) -> list[int]:
            await function()
            return []

    stream = Endless(thread)
    first = asyncio.create_task(anext(stream))
    await function.begun.wait()
    with pytest.raises(InvalidInput, match="another task waits for the next item of this Endless"):
        await anext(stream)
    first.cancel()
    await asyncio.wait([first])
    thread.close()


@in_asyncio
async def test_a_cancelled_opening_leaves_nothing_open() -> None:
    thread, function = TrioThread(), Waiting()

    @asynccontextmanager
    async def never_there() -> AsyncIterator[None]:
        await function()
        yield

    task = asyncio.create_task(Held(thread, never_there()).open(""))
    await function.begun.wait()
    task.cancel()
    await asyncio.wait([task])

    assert (task.cancelled(), function.log) == (True, ["cleaned up"])
    thread.close()


@in_asyncio
async def test_a_cancelled_request_leaves_the_client_usable(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        maps = client.resource(CONFIGMAPS)
        await maps.create(config_map("one"))
        cluster.run(cluster.server.inject, Hang(), verb="list", times=1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await maps.list(namespace="default")

        assert [obj.name for obj in await maps.list(namespace="default")] == ["one"]


# ── closing ends what waits ──────────────────────────────────────────────────────────────────


@in_asyncio
async def test_closing_the_client_ends_all_tasks_that_wait(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        informer = client.informer("widgets.v1.example.com")
        await informer.__aenter__()
        events, watch = informer.events(), client.resource(CONFIGMAPS).watch(namespace="default")
        await events.__aenter__()
        await watch.__aenter__()
        handle = informer.add_handler(on_add=print)
        await handle.wait_synced()
        waiting = {
            "state": informer.wait_state(dynkube.LIVE),
            "watch": anext(watch),
            "condition": client.resource("namespaces").wait_for("never", "create"),
            "events": anext(events),
        }
        tasks = {name: asyncio.create_task(each) for name, each in waiting.items()}
        await client.server_version()  # they have begun meanwhile

    async with asyncio.timeout(30):
        ended = dict(zip(tasks, await asyncio.gather(*tasks.values(), return_exceptions=True), strict=True))

    assert isinstance(ended.pop("events"), StopAsyncIteration | ClosedError)
    assert {name: type(error) for name, error in ended.items()} == dict.fromkeys(ended, ClosedError)


@in_asyncio
async def test_closing_a_watch_ends_the_task_that_waits_for_its_next_event(cluster: ServerThread) -> None:
    async with (
        dynkube.aio.connect(url=cluster.url) as client,
        client.resource(CONFIGMAPS).watch(namespace="default") as watch,
    ):
        step = asyncio.ensure_future(anext(watch))
        await client.server_version()
        await watch.aclose()

        with pytest.raises(ClosedError, match="the watch is closed"):
            await step


@in_asyncio
async def test_the_end_of_the_trio_thread_ends_waiting_calls() -> None:
    thread, function = TrioThread(), Waiting()
    task = asyncio.create_task(in_trio(thread, function.__call__))
    await function.begun.wait()

    await asyncio.to_thread(thread.close)

    with pytest.raises(ClosedError, match="connect again"):
        await task
    with pytest.raises(ClosedError, match="connect again"):
        await in_trio(thread, trio.sleep, 0)
