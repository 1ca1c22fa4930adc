"""Many informers on one cache: each one gets the right events, and none holds the event loop."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
import trio

import dynkube
from dynkube import Client, LabelFilter, Unstructured
from dynkube.informers._views.event_stream import EventQueue
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.turns import Turns
from dynkube.meta._object import Key
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, replace, widget


class Steps:
    """Records the most events delivered in one iteration of the event loop."""

    def __init__(self) -> None:
        self.done = 0
        self.most = 0

    async def watch(self) -> None:
        while True:
            before = self.done
            await trio.lowlevel.checkpoint()
            self.most = max(self.most, self.done - before)


async def follow(stack: AsyncExitStack, client: Client, count: int, steps: Steps) -> list[Recorder]:
    recorders: list[Recorder] = []

    class Noting(Recorder):
        def attach(self, informer: dynkube.Informer) -> dynkube.Registration:
            return informer.add_handler(on_add=self.note, on_update=lambda old, new: self.note(new))

        def note(self, obj: Unstructured) -> None:
            steps.done += 1
            self.events.append(f"{obj.name}/{obj['spec']['n']}")

    for number in range(count):
        informer = client.informer(WIDGETS, filter=LabelFilter(f"team={number % 2}"))
        recorders.append(Noting())
        recorders[-1].attach(informer)
        await stack.enter_async_context(informer)
    return recorders


@pytest.mark.scenario("P5", "P9")
async def test_a_change_is_shown_to_a_few_views_at_a_time_and_to_each_in_order(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    steps = Steps()
    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        recorders = await follow(stack, client, 400, steps)
        await quiet()
        server.create(widget("a", labels={"team": "0"}, n=0))
        nursery.start_soon(steps.watch)
        for _ in range(300):
            await trio.lowlevel.checkpoint()
        replace(server, widget("a", labels={"team": "0"}, n=1))
        for _ in range(300):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()

    events = [recorder.events for recorder in recorders]
    assert events == [["a/0", "a/1"], []] * 200
    assert 0 < steps.most <= 100


@pytest.mark.scenario("P9")
async def test_many_streams_of_one_informer_do_not_hold_the_event_loop(
    server: APIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, offer = Steps(), EventQueue.offer

    def count(self: EventQueue, key: Key, visible: Unstructured | None) -> None:
        steps.done += 1
        offer(self, key, visible)

    monkeypatch.setattr(EventQueue, "offer", count)
    server.create(crd())
    settings = dynkube.InformerSettings(slice=0)
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
        AsyncExitStack() as stack,
        trio.open_nursery() as nursery,
    ):
        streams = [await stack.enter_async_context(widgets.events()) for _ in range(300)]
        await widgets.wait_state(dynkube.LIVE)
        nursery.start_soon(steps.watch)
        server.load([widget(f"w{number}") for number in range(64)])
        seen = [await anext(streams[-1]) for _ in range(64)]
        widgets.refresh_filter()
        await widgets.add_handler(on_delete=print).wait_synced()

        assert (len(seen), {stream.backlog for stream in streams[:-1]}) == (64, {64})
        assert 0 < steps.most <= 2 * 2048, "of 19,200"
        nursery.cancel_scope.cancel()


@pytest.mark.scenario("P2")
async def test_views_added_and_removed_while_a_change_is_shown_get_the_right_events(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    joined = Recorder()
    async with AsyncExitStack() as stack:
        informers = [await stack.enter_async_context(client.informer(WIDGETS)) for _ in range(200)]
        late = client.informer(WIDGETS)
        joined.attach(late)

        async def change() -> None:
            await late.__aenter__()
            await informers[-1].aclose()

        async with trio.open_nursery() as nursery:
            informers[0].add_handler(on_add=lambda obj: nursery.start_soon(change))
            gone = Recorder()
            gone.attach(informers[-1])
            await quiet()
            server.create(widget("a"))
            await quiet()

        assert (await joined.drain(), names(late), gone.events in ([], ["add/a"])) == (["add/a"], ["a"], True)
        await late.aclose()


async def test_entering_an_informer_settles_only_its_own_view(
    server: APIServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[View] = []
    settle = View.settle

    def record_settle(self: View, *, after_round: bool = False) -> None:
        settled.append(self)
        settle(self, after_round=after_round)

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client.informer(WIDGETS))
        await quiet()
        monkeypatch.setattr(View, "settle", record_settle)
        for _ in range(10):
            await stack.enter_async_context(client.informer(WIDGETS))

        assert len(settled) == 10


async def test_handlers_share_one_slice_and_queue_for_the_next() -> None:
    now = 0.0
    steps, left = Steps(), 24

    async def work() -> None:
        nonlocal now, left
        turns.begin()
        for _ in range(3):
            steps.done += 1
            now += 1.0  # each event takes longer than the slice
            if turns.over:
                await turns.wait()
        left -= 1

    async with trio.open_nursery() as nursery:
        turns = Turns(lambda: now, 0.5, nursery.start_soon)
        for _ in range(24):
            nursery.start_soon(work)
        await trio.lowlevel.checkpoint()  # each handler got one event
        nursery.start_soon(steps.watch)
        while left:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()

    # Two checks are at most two iterations apart, with nine events each.
    assert (steps.done, 1 <= steps.most <= 18) == (72, True)


async def test_handlers_that_begin_soon_after_each_other_share_a_slice() -> None:
    now = 0.0
    turns = Turns(lambda: now, 0.003, lambda work: None)

    now = 10.0
    turns.begin()
    now = 10.00005
    turns.begin()
    now = 10.00302

    assert turns.over


async def test_handlers_that_waited_for_their_turn_have_a_whole_slice() -> None:
    now, waits = 0.0, 0

    async def work() -> None:
        nonlocal now, waits
        turns.begin()
        for _ in range(30):
            now += 0.1
            if turns.over:
                waits += 1
                await turns.wait()

    async with trio.open_nursery() as nursery:
        turns = Turns(lambda: now, 0.5, nursery.start_soon)
        for _ in range(3):
            nursery.start_soon(work)

    assert waits < 60  # 90 events; seven per iteration, five of them for the first in the queue
