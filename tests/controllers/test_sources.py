"""Keys from outside of the cluster: streams, and keys added on any thread."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

import dynkube
from dynkube import HashShard, Unstructured
from dynkube.controllers import (
    Controller,
    ControllerPhase,
    LeaderElection,
    ObjectKey,
    Source,
    SourceKey,
    SourceStatus,
    run,
)
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import APIServer, Delay
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

SOURCE: Any = Source  # for arguments that a type checker would reject
A = ("default", "a")
B = ("default", "b")


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())


class Streams:
    """A stream that yields keys, waits some seconds, and then raises or ends; each time that it is opened."""

    def __init__(self, *keys: Any, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.keys, self.seconds, self.error = keys, seconds, error
        self.opened: list[float] = []
        self.closed = 0
        self._start = trio.current_time()

    async def __call__(self) -> AsyncIterator[Any]:
        self.opened.append(trio.current_time() - self._start)
        try:
            for key in self.keys:
                yield key
            await trio.sleep(self.seconds)
            if self.error is not None:
                raise self.error
        finally:
            self.closed += 1


def stream(*keys: Any) -> Callable[[], AsyncIterator[Any]]:
    """Return a stream of these keys that does not end."""
    return Streams(*keys, seconds=1e9)


# ── streams ──────────────────────────────────────────────────────────────────────────────────


async def test_keys_of_a_stream_are_reconciled_whether_or_not_their_objects_exist(
    server: APIServer, client: dynkube.Client
) -> None:
    server.create(widget("a"))
    calls = Calls()
    async with running(client, Controller(WIDGETS, calls, sources=[Source(stream(B, ObjectKey(*A)))])):
        await quiet(1)

    assert sorted(zip(calls.keys, (obj is not None for obj in calls.objects), strict=True)) == [
        ("default/a", True),
        ("default/b", False),
    ]


async def test_a_stream_may_be_the_context_manager_of_an_iterator(client: dynkube.Client) -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[AsyncIterator[Any]]:
        steps.append("opened")
        yield stream(A)()
        steps.append("closed")

    calls = Calls()
    async with running(client, Controller(WIDGETS, calls, sources=[Source(opened)])):
        await quiet(1)
        assert steps == ["opened"]

    assert calls.keys == ["default/a"]


async def test_a_stream_that_raises_is_opened_again_later_and_later(
    client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    streams, calls = Streams(A, error=OSError("no connection")), Calls()
    controller = Controller(WIDGETS, calls, sources=[Source(streams, name="orders")])
    async with running(client, controller):
        await quiet(20)
        status = controller.status().sources

    assert streams.opened == [0, 1, 3, 7, 15]
    assert calls.times == [0, 1, 3, 7, 15]
    assert status == (SourceStatus("orders", False, 5, 5, "OSError: no connection"),)
    assert [record.args[2] for record in caplog.records if "source orders" in record.message] == [1, 2, 4]  # type: ignore[index]


async def test_a_stream_that_ends_is_opened_again(client: dynkube.Client) -> None:
    streams = Streams(A)
    controller = Controller(WIDGETS, Calls(), sources=[Source(streams)])
    async with running(client, controller):
        await quiet(4)
        assert "has ended" in controller.status().sources[0].last_error

    assert streams.opened == [0, 1, 3]


async def test_a_stream_that_was_open_for_a_minute_is_opened_again_after_a_second(client: dynkube.Client) -> None:
    streams = Streams(A, seconds=60)
    async with running(client, Controller(WIDGETS, Calls(), sources=[Source(streams)])):
        await quiet(200)

    assert streams.opened == [0, 61, 122, 183]


async def test_a_key_that_is_none_is_counted_and_the_stream_continues(client: dynkube.Client) -> None:
    calls = Calls()
    controller = Controller(WIDGETS, calls, sources=[Source(stream("a", ("", ""), A))])
    async with running(client, controller):
        await quiet(1)
        (status,) = controller.status().sources

    assert calls.keys == ["default/a"]
    assert (status.open, status.keys, status.failures) == (True, 1, 2)
    assert "is not a key" in status.last_error


async def test_streams_are_closed_when_the_controller_is_stopped_and_calls_may_end(client: dynkube.Client) -> None:
    streams, calls = Streams(A, seconds=1e9), Calls(seconds=10)
    closed_at_the_end_of_the_call: list[int] = []

    async def reconcile(ctx: Any, key: ObjectKey) -> None:
        await calls(ctx, key)
        closed_at_the_end_of_the_call.append(streams.closed)

    async with running(client, Controller(WIDGETS, reconcile, sources=[Source(streams)])):
        await quiet(5)

    assert (len(streams.opened), closed_at_the_end_of_the_call) == (1, [1])


async def test_a_stream_is_opened_only_by_the_leader(server: APIServer, client: dynkube.Client) -> None:
    streams, pushed = Streams(A, seconds=1e9), Source()
    controller = Controller(WIDGETS, Calls(), sources=[Source(streams), pushed])
    election = LeaderElection("widgets", namespace="default")
    server.inject(Delay(2), resource="leases")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run, client, controller, election=election))
        await quiet(1)
        assert controller.status().phase is ControllerPhase.STANDBY
        assert (streams.opened, pushed.add(B)) == ([], False)
        await quiet(100)
        assert (len(streams.opened), pushed.add(B)) == (1, True)
        nursery.cancel_scope.cancel()


async def test_no_key_of_a_source_is_reconciled_before_the_informers_are_synced(
    server: APIServer, client: dynkube.Client
) -> None:
    server.inject(Delay(15), resource="widgets")
    calls = Calls()
    async with running(client, Controller(WIDGETS, calls, sources=[Source(stream(A))])):
        await quiet(10)
        assert calls.keys == []
        await quiet(60)

    assert calls.keys == ["default/a"]


async def test_a_key_may_have_a_delay_and_a_priority(client: dynkube.Client) -> None:
    keys = [SourceKey(A, priority=-1), SourceKey(("", "later"), after=30, priority=9), SourceKey(B)]
    calls = Calls(seconds=1)
    async with running(client, Controller(WIDGETS, calls, sources=[Source(stream(("", "first"), *keys), priority=5)])):
        await quiet(60)

    assert calls.keys == ["first", "default/b", "default/a", "later"]
    assert calls.times == [0, 1, 2, 30]


async def test_keys_of_other_shards_are_ignored(server: APIServer, client: dynkube.Client) -> None:
    shards = [HashShard(0, 2), HashShard(1, 2)]
    mine: dict[bool, str] = {}
    for number in range(20):
        obj = Unstructured(server.create(widget(f"w{number}")))
        mine[shards[0].matches(obj)] = obj.name
    calls, source = Calls(), Source()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run, client, Controller(WIDGETS, calls, sources=[source]), sharding=shards[0]))
        await quiet(1)
        calls.keys.clear()
        for name in mine.values():
            source.add(("default", name))
        await quiet(1)
        nursery.cancel_scope.cancel()

    assert calls.keys == [f"default/{mine[True]}"]


# ── threads ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.real_time
async def test_a_generator_is_iterated_in_a_thread_that_ends_with_the_controller(client: dynkube.Client) -> None:
    threads: list[threading.Thread] = []
    called = trio.Event()

    def keys(stopped: threading.Event) -> Iterator[Any]:
        threads.append(threading.current_thread())
        yield A
        stopped.wait()

    async def reconcile(ctx: object, key: ObjectKey) -> None:
        called.set()

    async with running(client, Controller(WIDGETS, reconcile, sources=[Source(keys)])):
        await called.wait()

    threads[0].join(10)
    assert not threads[0].is_alive()


@pytest.mark.real_time
async def test_a_generator_that_blocks_does_not_delay_the_end_and_is_closed_when_it_yields(
    client: dynkube.Client,
) -> None:
    steps: list[str] = []
    go_on, closed, waits = threading.Event(), threading.Event(), trio.Event()
    token = trio.lowlevel.current_trio_token()

    def keys() -> Iterator[Any]:
        try:
            token.run_sync_soon(waits.set)
            go_on.wait()
            yield A
            steps.append("goes on")
        finally:
            closed.set()

    async with running(client, Controller(WIDGETS, Calls(), sources=[Source(keys)])):
        await waits.wait()
    go_on.set()

    assert closed.wait(10)
    assert steps == []


@pytest.mark.real_time
async def test_a_generator_that_raises_is_counted(client: dynkube.Client) -> None:
    raised = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def keys() -> Iterator[Any]:
        yield A
        token.run_sync_soon(raised.set)
        raise OSError("no broker")

    controller = Controller(WIDGETS, Calls(), sources=[Source(keys)])
    async with running(client, controller):
        await raised.wait()
        while not controller.status().sources[0].failures:
            await trio.lowlevel.checkpoint()
        assert controller.status().sources[0].last_error == "OSError: no broker"


# ── add ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_key_that_is_added_is_reconciled_once_and_again_after_a_call(client: dynkube.Client) -> None:
    calls, source = Calls(seconds=10), Source()
    async with running(client, Controller(WIDGETS, calls, sources=[source])):
        await quiet(1)
        for _ in range(5):
            assert source.add(A)
        await quiet(1)
        assert source.add(A)
        await quiet(60)

    assert calls.times == [1, 11]


async def test_the_earlier_time_and_the_higher_priority_of_an_added_key_hold(client: dynkube.Client) -> None:
    calls, source = Calls(), Source()
    async with running(client, Controller(WIDGETS, calls, sources=[source])):
        await quiet(1)
        source.add(B, after=10)
        source.add(A, after=10, priority=1)
        source.add(A, after=30)
        await quiet(60)

    assert (calls.keys, calls.times) == (["default/a", "default/b"], [11, 11])


@pytest.mark.real_time
async def test_keys_are_added_on_any_thread_and_wait_once_each(client: dynkube.Client) -> None:
    source, done, seen = Source(), trio.Event(), set()

    async def reconcile(ctx: object, key: ObjectKey) -> None:
        seen.add(key.name)
        if len(seen) == 100:
            done.set()

    def add_many() -> None:
        for number in range(10_000):
            assert source.add(("default", f"w{number % 100}"))

    async with running(client, controller := Controller(WIDGETS, reconcile, sources=[source])):
        while controller.status().phase is not ControllerPhase.RUNNING:
            await trio.lowlevel.checkpoint()
        await trio.to_thread.run_sync(add_many)
        await done.wait()


async def test_a_key_that_is_added_right_after_the_start_waits_for_the_informers(client: dynkube.Client) -> None:
    calls, source = Calls(), Source()
    async with trio.open_nursery() as nursery:
        await nursery.start(run, client, Controller(WIDGETS, calls, sources=[source]))
        assert source.add(A)
        await quiet(10)
        nursery.cancel_scope.cancel()

    assert calls.keys == ["default/a"]


async def test_each_controller_with_a_source_gets_its_keys(client: dynkube.Client) -> None:
    one, two, source = Calls(), Calls(), Source()
    controllers = [Controller(WIDGETS, calls, name=name, sources=[source]) for calls, name in ((one, "a"), (two, "b"))]
    async with running(client, *controllers):
        await quiet(1)
        source.add(A)
        await quiet(1)

    assert one.keys == two.keys == ["default/a"]


async def test_adding_without_a_running_controller_raises(client: dynkube.Client) -> None:
    source = Source(name="orders")
    with pytest.raises(ClosedError, match="no controller with the source orders is running, so default/a would not"):
        source.add(A)
    async with running(client, Controller(WIDGETS, Calls(), sources=[source])):
        await quiet(1)
        assert source.add(A)
    with pytest.raises(ClosedError, match="no controller"):
        source.add(A)


# ── arguments ────────────────────────────────────────────────────────────────────────────────


async def returns_none() -> None: ...


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: SOURCE([A]), "pass the function that opens it, not what it returns"),
        (lambda: SOURCE(returns_none), "async function without yield"),
        (lambda: SOURCE(lambda arg: None), "requires arguments"),
        (lambda: SOURCE(name=""), "pass a string that is not empty"),
        (lambda: SOURCE(priority="high"), "priority='high'"),
        (lambda: Controller(WIDGETS, Calls(), sources=[A]), r"pass a list of Source\(stream\)"),  # type: ignore[list-item]
        (lambda: Source().add("a"), "is not a key"),  # type: ignore[arg-type]
        (lambda: Source().add(A, after=-1), "after=-1: pass 0 or more seconds"),
        (lambda: Source().add(A, priority="high"), "priority='high'"),  # type: ignore[arg-type]
    ],
)
async def test_invalid_arguments_are_rejected_with_the_fix(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wrong()


async def test_a_function_that_returns_no_stream_is_a_failure_of_the_source(client: dynkube.Client) -> None:
    controller = Controller(WIDGETS, Calls(), sources=[SOURCE(lambda: [A])])
    async with running(client, controller):
        await quiet(1)
        assert "the stream is a list: return an async iterator" in controller.status().sources[0].last_error


async def test_a_cluster_that_the_controller_does_not_run_on_is_rejected(client: dynkube.Client) -> None:
    source = Source()
    async with running(client, Controller(WIDGETS, Calls(), sources=[source])):
        await quiet(1)
        with pytest.raises(InvalidInput, match=r"the cluster 'east' \(its clusters: one without a name\)"):
            source.add(A, cluster="east")
