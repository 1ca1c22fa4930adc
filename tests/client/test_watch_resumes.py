"""A watch over many requests: however one ends, the next continues from its last version, after the right delay."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube.client._watch_settings import WatchSettings
from dynkube.errors import ClosedError, WrongScope
from dynkube.meta import Added, Bookmark, Modified, WatchEvent
from tests.client.wire import (
    FOREVER,
    Part,
    ScriptedResponse,
    ScriptedServer,
    bookmark,
    connect,
    error_response,
    event,
    pod,
    pods,
    stream,
)

A1, A2, A3 = (pod("a", version) for version in (1, 2, 3))
MODIFIED2, MODIFIED3 = event("MODIFIED", A2), event("MODIFIED", A3)

LIVELY: list[Part] = [100.0, bookmark(2)] * 5


async def take(server: ScriptedServer, count: int, **options: object) -> list[WatchEvent]:
    """The first events of a watch on pods."""
    settings = options.pop("settings", WatchSettings())
    assert isinstance(settings, WatchSettings)
    watch = connect(server, settings=settings).resource("pods").watch(**options)  # type: ignore[arg-type]  # any option
    async with watch as events:
        return [await anext(events) for _ in range(count)]


def versions(events: list[WatchEvent]) -> list[str]:
    return [one.resource_version if isinstance(one, Bookmark) else one.object.resource_version for one in events]


async def test_a_watch_begins_with_the_existing_objects_and_continues_from_the_list() -> None:
    server = ScriptedServer(pods(9, A1, pod("b", 4)), stream(event("MODIFIED", pod("a", 10))))

    events = await take(server, 3)

    assert [type(one) for one in events] == [Added, Added, Modified]
    assert server.request_lines == ["GET /api/v1/pods limit=500", "GET /api/v1/pods?watch rv=9"]


async def test_a_watch_from_a_version_does_not_list() -> None:
    server = ScriptedServer(stream(MODIFIED2))

    events = await take(server, 1, resource_version="1")

    assert versions(events) == ["2"]
    assert server.request_lines == ["GET /api/v1/pods?watch rv=1"]


async def test_a_watch_from_version_zero_lists_any_cached_state() -> None:
    server = ScriptedServer(pods(9, A1), stream(bookmark(10)))

    await take(server, 2, resource_version="0")

    assert server.request_lines == ["GET /api/v1/pods rv=0 limit=500", "GET /api/v1/pods?watch rv=9"]


async def test_requests_ask_for_bookmarks_and_a_timeout_within_ten_minutes() -> None:
    server = ScriptedServer(pods(1), stream(bookmark(2)))

    await take(server, 1)

    params = server.requests[1].url.params
    assert (params["allowWatchBookmarks"], params["timeoutSeconds"]) == ("true", "300")


@pytest.mark.parametrize(
    ("end", "opened_again_at"),
    [
        pytest.param(stream(MODIFIED2, 150.0, bookmark(2), 150.0), 300, id="clean end"),
        pytest.param(stream(MODIFIED2), 1, id="clean end, at once"),
        pytest.param(stream(MODIFIED2, 50.0, httpx2.ReadError("reset")), 50.8, id="cut"),
        pytest.param(stream(MODIFIED2, 50.0, MODIFIED3[:30]), 50.8, id="ends mid-line"),
        pytest.param(stream(MODIFIED2, FOREVER), 180.8, id="silent"),
        pytest.param(stream(MODIFIED2, *LIVELY), 330, id="not ended by the server"),
    ],
)
async def test_the_next_request_continues_from_the_last_version(end: ScriptedResponse, opened_again_at: float) -> None:
    server = ScriptedServer(stream(MODIFIED2), stream(MODIFIED3))
    server.responses[0] = end

    events = await take(server, 2, resource_version="1", bookmarks=False)

    assert versions(events) == ["2", "3"]
    assert server.request_lines == ["GET /api/v1/pods?watch rv=1", "GET /api/v1/pods?watch rv=2"]
    assert server.times == [0, pytest.approx(opened_again_at)]


async def test_silence_proves_nothing_if_the_server_has_never_sent_a_bookmark() -> None:
    server = ScriptedServer(stream(MODIFIED2), *(stream(FOREVER) for _ in range(3)), stream(MODIFIED3))

    events = await take(server, 2, resource_version="1", bookmarks=False)

    assert versions(events) == ["2", "3"]
    assert server.request_lines == ["GET /api/v1/pods?watch rv=1", *["GET /api/v1/pods?watch rv=2"] * 4]


async def test_after_two_silent_requests_to_a_server_with_bookmarks_objects_are_listed_again() -> None:
    silent = [stream(FOREVER), stream(FOREVER)]
    server = ScriptedServer(pods(9, A1), stream(bookmark(10)), *silent, pods(11, A1), stream(MODIFIED3))

    await take(server, 3)

    assert server.request_lines == [
        "GET /api/v1/pods limit=500",
        "GET /api/v1/pods?watch rv=9",
        *["GET /api/v1/pods?watch rv=10"] * 2,
        "GET /api/v1/pods limit=500",
        "GET /api/v1/pods?watch rv=11",
    ]


@pytest.mark.parametrize(
    ("response", "waited"),
    [
        pytest.param(error_response(500, "InternalError"), 0.8, id="500"),
        pytest.param(error_response(504, "Timeout"), 0.8, id="504"),
        pytest.param(error_response(429, "TooManyRequests"), 0.8, id="429"),
        pytest.param(httpx2.ReadTimeout("slow"), 0.8, id="transport"),
    ],
)
async def test_a_transient_error_response_is_retried_after_a_delay(response: ScriptedResponse, waited: float) -> None:
    server = ScriptedServer(stream(MODIFIED2, 10.0), response, stream(MODIFIED3))

    events = await take(server, 2, resource_version="1")

    assert versions(events) == ["2", "3"]
    assert server.times == [0, 10, pytest.approx(10 + waited)]


async def test_delays_grow_to_thirty_seconds_while_failures_continue() -> None:
    bad = [error_response(500, "InternalError") for _ in range(8)]
    server = ScriptedServer(stream(MODIFIED2, 10.0), *bad, stream(MODIFIED3))

    await take(server, 2, resource_version="1")

    waits = [later - sooner for sooner, later in zip(server.times[1:], server.times[2:], strict=False)]
    assert waits == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30])


async def test_a_proxy_that_cuts_idle_streams_does_not_make_the_delays_grow() -> None:
    cuts: list[ScriptedResponse] = [stream(50.0, httpx2.ReadError("idle")) for _ in range(5)]
    server = ScriptedServer(*cuts, stream(MODIFIED2))

    await take(server, 1, resource_version="1")

    assert server.times == pytest.approx([0, 50.8, 101.6, 152.4, 203.2, 254])


async def test_the_third_short_request_after_a_long_one_is_followed_by_a_delay() -> None:
    short = [stream(event("MODIFIED", pod("a", version)), 2.0) for version in (3, 4, 5)]
    server = ScriptedServer(stream(MODIFIED2, 20.0), *short, stream(event("MODIFIED", pod("a", 6))))

    await take(server, 5, resource_version="1")

    assert server.times == pytest.approx([0, 20, 22, 24, 26.8])


async def test_the_retry_after_of_an_error_event_is_honored() -> None:
    busy = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}}
    server = ScriptedServer(stream(event("ERROR", busy)), stream(MODIFIED2))

    await take(server, 1, resource_version="1")

    assert server.times == [0, 7]


async def test_a_bookmark_advances_the_version_even_if_it_is_not_returned() -> None:
    server = ScriptedServer(stream(bookmark(7), 5.0), stream(event("MODIFIED", pod("a", 8))))

    events = await take(server, 1, resource_version="1", bookmarks=False)

    assert versions(events) == ["8"]
    assert server.request_lines[1] == "GET /api/v1/pods?watch rv=7"


async def test_bookmarks_are_returned_and_keep_a_watch_alive() -> None:
    server = ScriptedServer(stream(170.0, bookmark(5), 170.0, bookmark(5)))

    events = await take(server, 2, resource_version="1", settings=WatchSettings(min_timeout=3600, max_timeout=3600))

    assert events == [Bookmark("5"), Bookmark("5")]
    assert (len(server.requests), trio.current_time()) == (1, 340)


async def test_a_cancelled_wait_for_an_event_loses_nothing() -> None:
    server = ScriptedServer(pods(1, A1), stream(100.0, MODIFIED2), stream(MODIFIED2))

    async with connect(server).resource("pods").watch() as events:
        await anext(events)
        with trio.move_on_after(5) as scope:
            await anext(events)
        event_after = await anext(events)

    assert scope.cancelled_caught
    assert versions([event_after]) == ["2"]
    assert server.request_lines[1:] == ["GET /api/v1/pods?watch rv=1"] * 2


async def test_leaving_ends_the_request_and_the_events() -> None:
    response = stream(MODIFIED2, FOREVER)

    async with connect(ScriptedServer(response)).resource("pods").watch(resource_version="1") as events:
        await anext(events)
    with pytest.raises(ClosedError, match="after its 'async with' block"):
        await anext(events)

    assert response.stream.closed_at == 0  # type: ignore[union-attr]  # the stream is the test's own Body


async def test_a_namespace_for_a_cluster_scoped_resource_is_rejected_before_any_request() -> None:
    server = ScriptedServer()

    with pytest.raises(WrongScope, match="cluster-scoped"):
        async with connect(server).resource("namespaces").watch(namespace="shop"):
            pytest.fail("it was entered")

    assert server.requests == []


@pytest.mark.scenario("F40")
async def test_restarts_and_the_last_error_can_be_seen() -> None:
    server = ScriptedServer(stream(MODIFIED2, 9.0), error_response(500, "InternalError"), stream(MODIFIED3, FOREVER))

    async with connect(server).resource("pods").watch(resource_version="1") as events:
        await anext(events)
        before = events.restarts
        with trio.move_on_after(9.5):
            await anext(events)
        failed = str(events.last_error)
        await anext(events)

    assert (before, events.restarts, events.last_error) == (0, 1, None)
    assert "500 InternalError" in failed
