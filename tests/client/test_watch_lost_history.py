"""Compacted history: 410 in all its forms, and the changes that a watch delivers instead."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from dynkube.errors import Gone
from dynkube.meta import Bookmark, Deleted, WatchEvent
from tests.client.wire import (
    ScriptedResponse,
    ScriptedServer,
    bookmark,
    connect,
    error_response,
    event,
    pod,
    pods,
    status,
    stream,
)

TOO_LARGE = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}

EXPIRED = [
    pytest.param(lambda: error_response(410, "Gone", "too old resource version"), id="HTTP 410"),
    pytest.param(lambda: stream(event("ERROR", status(410, "Expired", "too old"))), id="ERROR event"),
    pytest.param(stream, id="200 and an immediate end"),
    pytest.param(lambda: error_response(504, "Timeout", details=TOO_LARGE), id="a version that is too large"),
]


def describe(event: WatchEvent) -> str:
    if isinstance(event, Bookmark):
        return f"bookmark {event.resource_version}"
    return f"{type(event).__name__.lower()} {event.object.name}@{event.object.resource_version}"


async def follow(server: ScriptedServer, count: int, resource_version: str | None = None) -> list[str]:
    async with connect(server).resource("pods").watch(resource_version=resource_version) as events:
        return [describe(await anext(events)) for _ in range(count)]


@pytest.mark.parametrize("expired", EXPIRED)
async def test_the_changes_since_the_last_event_are_delivered(expired: Callable[[], httpx2.Response]) -> None:
    before = pods(5, pod("gone", 1), pod("same", 2), pod("changed", 3), pod("other", 4, uid="first"))
    after = pods(90, pod("same", 2), pod("changed", 80), pod("other", 81, uid="second"), pod("new", 82))
    server = ScriptedServer(before, expired(), after, stream(bookmark(95)))

    events = await follow(server, 10)

    assert sorted(events[4:9]) == ["added new@82", "added other@81", "deleted gone@1", "deleted other@4",
                                   "modified changed@80"]  # fmt: skip
    assert events.index("deleted other@4") < events.index("added other@81")
    assert server.request_lines[2:] == ["GET /api/v1/pods limit=500", "GET /api/v1/pods?watch rv=90"]


async def test_objects_of_watch_events_are_not_delivered_again() -> None:
    changes = event("ADDED", pod("b", 6)) + event("MODIFIED", pod("a", 7)) + event("DELETED", pod("c", 8))
    server = ScriptedServer(
        pods(5, pod("a", 1), pod("c", 2)),
        stream(changes, 5.0),
        error_response(410, "Expired"),
        pods(20, pod("a", 7), pod("b", 6)),
        stream(bookmark(21)),
    )

    events = await follow(server, 6)

    assert events[5:] == ["bookmark 21"]


async def test_an_object_deleted_in_between_is_delivered_with_its_identity() -> None:
    server = ScriptedServer(pods(5, pod("a", 3, spec={"x": 1})), error_response(410, "Expired"), pods(9))

    async with connect(server).resource("pods").watch() as events:
        await anext(events)
        deleted = await anext(events)

    assert isinstance(deleted, Deleted)
    assert deleted.object == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "shop", "uid": "uid-a", "resourceVersion": "3"},
    }


@pytest.mark.scenario("F16")
async def test_repeated_410_responses_are_followed_by_growing_delays() -> None:
    rounds: list[ScriptedResponse] = [
        response for _ in range(4) for response in (error_response(410, "Expired"), pods(5, pod("a")))
    ]
    server = ScriptedServer(pods(5, pod("a")), *rounds, stream(bookmark(9)))

    assert await follow(server, 2) == ["added a@1", "bookmark 9"]

    assert server.times[2::2] == pytest.approx([0.8, 2.4, 5.6, 12])


async def test_the_list_is_repeated_until_it_succeeds() -> None:
    server = ScriptedServer(
        pods(5, pod("a")),
        error_response(410, "Expired"),
        error_response(500, "InternalError"),
        pods(9, pod("b")),
        stream(),
    )

    assert await follow(server, 3) == ["added a@1", "deleted a@1", "added b@1"]


@pytest.mark.parametrize("expired", EXPIRED[:2])
async def test_a_watch_from_a_given_version_raises_gone_with_a_hint(
    expired: Callable[[], httpx2.Response],
) -> None:
    server = ScriptedServer(expired())

    with pytest.raises(Gone) as caught:
        await follow(server, 1, "5")

    assert "list again" in "\n".join(caught.value.__notes__)


@pytest.mark.scenario("F16")
async def test_a_watch_from_a_given_version_that_ends_at_once_checks_whether_the_version_has_expired() -> None:
    server = ScriptedServer(stream(), error_response(410, "Expired"))

    with pytest.raises(Gone):
        await follow(server, 1, "5")

    assert server.request_lines == ["GET /api/v1/pods?watch rv=5", "GET /api/v1/pods rv=5 match=Exact limit=1"]


@pytest.mark.parametrize(
    "response", [pytest.param(pods(5), id="still there"), pytest.param(error_response(400, "BadRequest"), id="unknown")]
)
async def test_a_short_watch_whose_version_has_not_expired_continues(response: ScriptedResponse) -> None:
    server = ScriptedServer(stream(), response, stream(event("ADDED", pod("a", 6))))

    assert await follow(server, 1, "5") == ["added a@6"]

    assert server.request_lines[2] == "GET /api/v1/pods?watch rv=5"


async def test_events_before_a_bookmark_that_goes_back_are_delivered_once() -> None:
    together = event("ADDED", pod("a", 8)) + bookmark(6)
    server = ScriptedServer(stream(together), pods(8), stream(event("ADDED", pod("b", 9))))

    assert await follow(server, 2, "5") == ["added a@8", "added b@9"]

    assert server.request_lines[1:] == ["GET /api/v1/pods rv=8 match=Exact limit=1", "GET /api/v1/pods?watch rv=8"]
