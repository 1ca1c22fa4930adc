"""Informers of the client for asyncio: plain reads, awaited waits, events and states."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

import dynkube
import dynkube.aio
from dynkube.errors import ClosedError, NoMatch
from dynkube_testing import ServerThread
from tests.aio.kit import in_asyncio
from tests.informers.kit import WIDGETS, crd
from tests.sync.kit import CONFIGMAPS, config_map, name_of

pytestmark = pytest.mark.real_time


@in_asyncio
async def test_an_informer_on_an_absent_resource_is_empty_and_becomes_live(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()
        assert (len(widgets), widgets.state.phase) == (0, dynkube.ABSENT)

        cluster.create(crd())

        assert (await widgets.wait_state(dynkube.LIVE)).reason == "Watching"


@in_asyncio
async def test_writes_are_read_from_the_cache_by_plain_calls(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer(CONFIGMAPS, transform=None) as maps:
        written = await client.resource(CONFIGMAPS).create(config_map("one", color="red"))
        await maps.wait_for(written)
        maps.add_index("color", "{.data.color}")

        assert maps.get("one", namespace="default") == written
        assert maps.by_index("color", "red") == [written]
        assert list(maps) == maps.list()


@in_asyncio
async def test_an_informer_is_configured_before_it_is_entered(cluster: ServerThread) -> None:
    for name in ("one", "two"):
        cluster.create(config_map(name))
    added: list[str] = []

    async with dynkube.aio.connect(url=cluster.url) as client:
        maps = client.informer(CONFIGMAPS, namespace="default")
        maps.add_handler(on_add=lambda obj: added.append(obj.name))
        maps.set_filter(lambda obj: obj.name == "two")
        async with maps:
            await maps.wait_synced()

    assert added == ["two"]


@in_asyncio
async def test_changing_the_filter_delivers_the_difference(cluster: ServerThread) -> None:
    for name in ("one", "two"):
        cluster.create(config_map(name))
    async with (
        dynkube.aio.connect(url=cluster.url) as client,
        client.informer(CONFIGMAPS, namespace="default") as maps,
        maps.events() as events,
    ):
        shown = {name_of(await anext(events)), name_of(await anext(events))}
        maps.set_filter(lambda obj: obj.name == "one")
        gone = await anext(events)

        assert (shown, name_of(gone), [obj.name for obj in maps]) == ({"one", "two"}, "two", ["one"])
        assert (events.has_synced, events.backlog) == (True, 0)


@in_asyncio
async def test_events_end_with_their_stream_or_informer(cluster: ServerThread) -> None:
    cluster.create(config_map("one"))
    async with (
        dynkube.aio.connect(url=cluster.url) as client,
        client.informer(CONFIGMAPS, namespace="default") as maps,
        maps.events() as closed,
        maps.events() as others,
    ):
        await anext(others)
        closed.close()
        left = [event async for event in closed]
        await maps.aclose()
        rest = [event async for event in others]

    assert (left, rest, maps.list(), maps.state.phase) == ([], [], [], dynkube.STOPPED)


@in_asyncio
async def test_states_are_iterated_over_until_the_end(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(dynkube.ABSENT)
        async with aclosing(widgets.states()) as states:
            absent = await anext(states)
            cluster.create(crd())
            live = await widgets.wait_state(dynkube.LIVE)
            await widgets.aclose()
            last = [state async for state in states][-1]

    assert (absent.phase, live.reason, last.phase) == (dynkube.ABSENT, "Watching", dynkube.STOPPED)


@in_asyncio
async def test_an_informer_that_is_not_open_raises_with_a_hint(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        maps = client.informer(CONFIGMAPS)
        for use in (maps.wait_synced, maps.events().__aenter__):
            with pytest.raises(ClosedError, match=r"not entered: use it inside 'async with client\.informer"):
                await use()
        async with maps:
            await maps.wait_synced()
            with pytest.raises(ClosedError, match="entered before"):
                await maps.__aenter__()
        for use in (maps.wait_synced, maps.events().__aenter__):
            with pytest.raises(ClosedError, match="this informer is closed"):
                await use()
        with pytest.raises(ClosedError, match="this informer is closed"):
            maps.add_handler(on_add=print)


@in_asyncio
async def test_a_failed_opening_raises_the_error_of_that_in_trio(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        with pytest.raises(NoMatch, match="nosuchthings"):
            await client.informer("nosuchthings").__aenter__()
        with pytest.raises(NoMatch, match="nosuchthings"):
            await client.resource("nosuchthings").watch().__aenter__()
        unopened = client.resource(CONFIGMAPS).watch()
        with pytest.raises(ClosedError, match="use it inside 'async with resource"):
            await anext(unopened)
        await unopened.aclose()


@in_asyncio
async def test_an_informer_is_used_in_several_event_loops(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer(CONFIGMAPS, namespace="default") as maps:
        added: list[tuple[str, bool]] = []
        loop = asyncio.get_running_loop()

        async def elsewhere() -> None:
            async def on_add(obj: dynkube.Unstructured) -> None:
                added.append((obj.name, asyncio.get_running_loop() is not loop))

            handle = maps.add_handler(on_add=on_add)
            await maps.wait_for(await client.resource(CONFIGMAPS).create(config_map("one")))
            await handle.wait_synced()
            handle.remove()

        await asyncio.to_thread(asyncio.run, elsewhere())

        assert added == [("one", True)]
