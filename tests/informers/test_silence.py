"""P11: streams that go silent, lists that never end, and resources without bookmarks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import httpx2
import pytest
import trio

import dynkube
from dynkube import LIVE, Client
from dynkube_testing import APIServer, RequestRecord
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, widget
from tests.informers.wire import Edit, TamperedWire


def watches_of(server: APIServer, resource: str = "widgets") -> list[RequestRecord]:
    return [r for r in server.requests if r.verb == "watch" and r.resource and r.resource.resource == resource]


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


@asynccontextmanager
async def tampered(server: APIServer, edit: Edit) -> AsyncIterator[Client]:
    settings = dynkube.InformerSettings(random=Random(7))
    async with dynkube.connect(transport=TamperedWire(server, edit), settings=settings) as client:
        yield client


@pytest.mark.scenario("F21", "P11")
async def test_21_a_silent_stream_is_noticed_after_90_seconds_and_nothing_is_lost(
    server: APIServer, client: Client
) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await trio.sleep(65)  # the last bookmark was received at 60
        server.end_watches("widgets", how="silent")
        server.create(widget("b"))
        server.delete("widgets", "a")

        await trio.sleep_until(149.9)
        assert await recorder.drain() == ["add/a"]
        await trio.sleep_until(150)

        assert await recorder.drain() == ["add/b", "delete/a"]
        streamed = [(request.time, "sendInitialEvents" in request.params) for request in watches_of(server)]
        assert streamed == [(0, True), (150, False)], "the watch continues from its last version, without another list"
        assert widgets.state.phase is LIVE


def without_end_mark(request: httpx2.Request, line: bytes) -> bytes:
    return b"" if b"initial-events-end" in line else line


@pytest.mark.scenario("F18", "P11")
async def test_18_initial_events_that_never_end_lead_to_lists_for_good(server: APIServer) -> None:
    async with tampered(server, without_end_mark) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert names(widgets.list()) == ["a"]
        assert trio.current_time() == 15, "the timeout for the CRDs; streaming is not tried again"
        server.create(crd("gadgets"))
        async with client.informer("gadgets.v1.example.com") as gadgets:
            await gadgets.wait_state(LIVE)
            assert trio.current_time() == 15
            assert [request.params.get("sendInitialEvents") for request in watches_of(server, "gadgets")] == [None]


@pytest.mark.scenario("F18")
async def test_18_a_server_that_rejects_streaming_lists_gets_one_such_request() -> None:
    async with APIServer(watch_list=False) as old, dynkube.connect(transport=old.transport()) as client:
        for plural in ("widgets", "gadgets"):
            old.create(crd(plural))
        async with client.informer(WIDGETS) as widgets, client.informer("gadgets.v1.example.com") as gadgets:
            await widgets.wait_state(LIVE)
            await gadgets.wait_state(LIVE)

            requests = [request for request in old.requests if "sendInitialEvents" in request.params]
            assert [(request.status, request.time) for request in requests] == [(422, 0.0)]
            assert trio.current_time() == 0


@pytest.mark.scenario("F18")
async def test_18_other_bookmarks_do_not_end_the_initial_events(server: APIServer) -> None:
    bookmark = b'{"type":"BOOKMARK","object":{"kind":"Widget","metadata":{"resourceVersion":"1"}}}\n'

    def early_bookmark(request: httpx2.Request, line: bytes) -> bytes:
        return bookmark + line if b'"ADDED"' in line else line

    async with tampered(server, early_bookmark) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert names(widgets.list()) == ["a"]
        assert widgets.statistics().lists == 0


@pytest.mark.scenario("F21", "P11")
async def test_the_idle_timeout_of_a_resource_without_bookmarks_grows(server: APIServer) -> None:
    def drop_all(request: httpx2.Request, line: bytes) -> bytes:
        return b"" if b'"BOOKMARK"' in line and "/widgets" in request.url.path else line

    async with tampered(server, drop_all) as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(1000)
        await quiet()

        times = [request.time for request in watches_of(server)]
        assert times[:4] == [0, 15, 105, 285], "15 s for a streaming list, then 90 s, then 180 s"
        assert widgets.state.phase is LIVE
        assert widgets.statistics().lists == 1
