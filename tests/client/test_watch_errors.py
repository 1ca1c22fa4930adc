"""Errors that a resuming watch raises instead of trying again."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube.errors import BadRequest, ConnectFailed, Forbidden, NotFound, ProtocolError, Unauthorized, UnreadableEvent
from dynkube.meta import Added
from tests.client.wire import ScriptedResponse, ScriptedServer, connect, error_response, event, pod, pods, stream

MODIFIED = event("MODIFIED", pod("a", 2))
GARBAGE = b"<html>\n"


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [(401, "Unauthorized", Unauthorized), (403, "Forbidden", Forbidden), (404, "NotFound", NotFound)],
)
async def test_a_refusal_is_raised_once_it_has_lasted_for_a_minute(
    code: int, reason: str, error: type[Exception]
) -> None:
    server = ScriptedServer(stream(MODIFIED, 5.0), *[error_response(code, reason) for _ in range(30)])

    async with connect(server).resource("pods").watch(resource_version="1") as events:
        await anext(events)
        began = trio.current_time()
        with pytest.raises(error):
            await anext(events)

    assert 60 <= trio.current_time() - began < 120


async def test_a_bad_request_is_raised_at_once() -> None:
    server = ScriptedServer(stream(MODIFIED, 5.0), error_response(400, "BadRequest"))

    async with connect(server).resource("pods").watch(resource_version="1") as events:
        await anext(events)
        with pytest.raises(BadRequest):
            await anext(events)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        pytest.param(httpx2.ConnectTimeout("no route"), ConnectFailed, id="unreachable"),
        pytest.param(
            httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<html>"), ProtocolError, id="HTML"
        ),
    ],
)
async def test_an_error_of_the_first_request_is_raised_even_if_it_is_transient(
    response: ScriptedResponse, error: type[Exception]
) -> None:
    with pytest.raises(error):
        async with connect(ScriptedServer(response)).resource("pods").watch():
            pytest.fail("it was entered")


async def test_after_an_unreadable_event_the_watch_lists_again() -> None:
    server = ScriptedServer(pods(5), stream(MODIFIED, GARBAGE), pods(9, pod("a", 7)), stream())

    async with connect(server).resource("pods").watch() as events:
        received = [await anext(events) for _ in range(2)]

    assert [(one.object.resource_version) for one in received if not hasattr(one, "initial_events_end")] == ["2", "7"]


@pytest.mark.scenario("F19")
async def test_repeated_unreadable_events_are_raised() -> None:
    server = ScriptedServer(pods(5), stream(GARBAGE), pods(5), stream(GARBAGE), pods(5), stream(GARBAGE))

    async with connect(server).resource("pods").watch() as events:
        with pytest.raises(UnreadableEvent):
            await anext(events)

    assert server.responses == []


async def test_events_between_unreadable_ones_reset_the_count() -> None:
    rounds: list[ScriptedResponse] = [stream(event("ADDED", pod("a", n)), GARBAGE) for n in range(2, 8)]
    server = ScriptedServer(*rounds)

    async with connect(server).resource("pods").watch(resource_version="1") as events:
        received = [await anext(events) for _ in range(6)]

    assert all(isinstance(one, Added) for one in received)
