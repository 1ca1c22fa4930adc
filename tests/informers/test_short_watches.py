"""Watches that the server ends early: the reaction depends on whether an event or bookmark was received."""

from __future__ import annotations

from random import Random

import trio

from dynkube import DEGRADED, LIVE, Client, InformerSettings, connect
from dynkube_testing import APIServer, Cut
from tests.informers.kit import WIDGETS, crd, widget


async def test_a_short_watch_without_events_is_confirmed_by_a_small_list(server: APIServer) -> None:
    server.create(crd())
    server.inject(Cut("clean", after_seconds=5), verb="watch", resource="widgets", times=1)

    async with listing(server) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(30)

        assert confirmations(server) == 1
        assert (widgets.state.phase, widgets.statistics().failures) == (LIVE, 0)


async def test_a_short_watch_with_events_continues_from_them(server: APIServer) -> None:
    server.create(crd())
    server.inject(Cut("clean", after_seconds=5), verb="watch", resource="widgets", times=1)

    async with listing(server) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.create(widget("a"))
        await trio.sleep(30)

        assert confirmations(server) == 0
        assert (len(widgets), widgets.statistics().failures) == (1, 0)


async def test_a_watch_that_ends_at_once_without_events_is_a_failure(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.inject(Cut("clean"), verb="watch", resource="widgets")
        server.end_watches()

        state = await widgets.wait_state(DEGRADED)

        assert state.reason == "StreamCutShort"


def listing(server: APIServer) -> Client:
    """A client that lists before it watches, as a streaming list ends with a bookmark."""
    settings = InformerSettings(random=Random(7), linger=0, streaming_lists=False)
    return connect(transport=server.transport(), settings=settings)


def confirmations(server: APIServer) -> int:
    """Count the lists of one object."""
    return sum(request.params.get("limit") == "1" for request in server.requests if "widgets" in request.path)
