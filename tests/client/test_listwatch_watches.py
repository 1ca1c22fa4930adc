"""A single watch request: batches of events, and the reasons for its end."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from dynkube.client._listwatch import ListWatch
from dynkube.config import ClientConfig
from dynkube.errors import ConnectFailed, ConnectionLost, Forbidden, Gone, UnreadableEvent
from dynkube.meta import (
    GVR,
    Added,
    Bookmark,
    Deleted,
    FieldSelector,
    HashShard,
    LabelSelector,
    Modified,
    Unstructured,
    WatchEvent,
)
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from tests.client.wire import ScriptedServer, bookmark, connect, error_response, event, pod, status, stream

PODS = GVR("", "v1", "pods")
OURS, FOREIGN = "74016b1e-e69e-4563-b118-2032b9463edd", "1052035b-15f2-46bd-8114-509b108c846c"
ADDED, MODIFIED = event("ADDED", pod("a", 1)), event("MODIFIED", pod("a", 2))
SLIM = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "b"}}


def listwatch(server: ScriptedServer, limits: Limits | None = None) -> ListWatch:
    rest = connect(server).rest
    if limits is not None:
        rest = RESTClient(ClientConfig(server="http://api.example"), transport=server, limits=limits)
    return ListWatch(rest, PODS, label_selector=LabelSelector(), field_selector=FieldSelector())


async def batches(server: ScriptedServer, into: list[list[WatchEvent]], limits: Limits | None = None) -> None:
    async with listwatch(server, limits).watch(resource_version="1") as watch:
        async for batch in watch:
            into.append(batch)  # noqa: PERF401  # a comprehension would lose the events before an error


def kinds(received: list[list[WatchEvent]]) -> list[list[type]]:
    return [[type(one) for one in batch] for batch in received]


async def test_the_events_of_one_chunk_come_as_one_batch() -> None:
    half = len(MODIFIED) // 2
    server = ScriptedServer(
        stream(ADDED + MODIFIED[:half], MODIFIED[half:], event("DELETED", pod("a", 3)) + bookmark(9))
    )
    received: list[list[WatchEvent]] = []

    await batches(server, received)

    assert kinds(received) == [[Added], [Modified], [Deleted, Bookmark]]
    assert received[-1][-1] == Bookmark("9")


async def test_a_watch_sends_its_parameters() -> None:
    server = ScriptedServer(stream(), stream(bookmark(3, end=True)))
    collection = listwatch(server)

    async with collection.watch(resource_version="5", timeout_seconds=300, bookmarks=False):
        pass
    async with collection.watch(send_initial_events=True) as watch:
        initial = [batch async for batch in watch]

    first, second = (dict(request.url.params) for request in server.requests)
    assert first == {"watch": "true", "resourceVersion": "5", "timeoutSeconds": "300"}
    assert second == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert initial == [[Bookmark("3", initial_events_end=True)]]


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        pytest.param([event("ERROR", status(410, "Expired", "too old"))], Gone, "too old", id="error event"),
        pytest.param([b'{"type":\n'], UnreadableEvent, "not a watch event", id="not JSON"),
        pytest.param([event("RENAMED", pod("b"))], UnreadableEvent, "unknown type 'RENAMED'", id="unknown type"),
        pytest.param([event("ADDED", {"kind": "Pod"})], UnreadableEvent, r"no metadata\.name", id="no metadata"),
        pytest.param(
            [event("ADDED", SLIM)],
            UnreadableEvent,
            "a PartialObjectMetadata instead of the object",
            id="metadata alone",
        ),
        pytest.param(
            [event("ADDED", {"kind": "Pod", "metadata": {"name": "b", "labels": 1}})],
            UnreadableEvent,
            r"object \(perhaps 'b'\) cannot be decoded",
            id="metadata of another type",
        ),
        pytest.param(
            [event("ERROR", {"kind": "Pod"})], UnreadableEvent, "instead of a Status", id="ERROR without a Status"
        ),
        pytest.param([MODIFIED[:-9]], ConnectionLost, "middle of a line", id="ends mid-line"),
        pytest.param([httpx2.ReadError("reset")], ConnectionLost, "truncated after", id="cut"),
    ],
)
async def test_an_error_is_raised_after_the_events_before_it(
    parts: list[bytes | float | Exception], error: type[Exception], message: str
) -> None:
    server = ScriptedServer(stream(ADDED, *parts))
    received: list[list[WatchEvent]] = []

    with pytest.raises(error, match=message):
        await batches(server, received)

    assert kinds(received) == [[Added]]


@pytest.mark.scenario("F19")
async def test_events_before_an_error_in_the_same_chunk_come_first() -> None:
    server = ScriptedServer(stream(ADDED + b"{}\n" + MODIFIED))
    received: list[list[WatchEvent]] = []

    with pytest.raises(UnreadableEvent):
        await batches(server, received)

    assert kinds(received) == [[Added]]


async def test_a_stream_that_ends_mid_line_is_not_an_unreadable_event() -> None:
    with pytest.raises(ConnectionLost):
        await batches(ScriptedServer(stream(ADDED[:20])), [])


@pytest.mark.scenario("F19")
@pytest.mark.parametrize("newline", [b"", b"\n"])
async def test_a_document_in_place_of_an_event_is_an_unreadable_event(newline: bytes) -> None:
    with pytest.raises(UnreadableEvent, match="Table"):
        await batches(ScriptedServer(stream(b'{"kind":"Table","apiVersion":"meta.k8s.io/v1"}' + newline)), [])


async def test_a_last_line_without_a_newline_is_an_event() -> None:
    received: list[list[WatchEvent]] = []

    await batches(ScriptedServer(stream(ADDED, MODIFIED[:-1])), received)

    assert kinds(received) == [[Added], [Modified]]


async def test_empty_lines_are_ignored() -> None:
    received: list[list[WatchEvent]] = []

    await batches(ScriptedServer(stream(b"\n\r\n", ADDED, b"\n")), received)

    assert kinds(received) == [[Added]]


@pytest.mark.scenario("F19")
async def test_a_line_over_the_limit_is_an_error() -> None:
    with pytest.raises(UnreadableEvent, match=r"longer than 100 bytes \(Limits\.max_line_bytes\)"):
        await batches(ScriptedServer(stream(event("ADDED", pod("x" * 200)))), [], Limits(max_line_bytes=100))


async def test_the_error_that_ended_a_watch_is_raised_again_by_later_calls() -> None:
    async with listwatch(ScriptedServer(stream(b"{}\n"))).watch() as watch:
        for _ in range(2):
            with pytest.raises(UnreadableEvent):
                await anext(watch)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        pytest.param(error_response(403, "Forbidden"), Forbidden, id="forbidden"),
        pytest.param(error_response(410, "Expired"), Gone, id="gone"),
        pytest.param(httpx2.ConnectTimeout("no route"), ConnectFailed, id="unreachable"),
    ],
)
async def test_an_error_response_to_a_watch_is_raised_on_entering(
    response: httpx2.Response | Exception, error: type[Exception]
) -> None:
    with pytest.raises(error):
        async with listwatch(ScriptedServer(response)).watch():
            pytest.fail("it was entered")


async def test_leaving_a_watch_closes_its_connection_at_once() -> None:
    response = stream(ADDED, 1000.0)

    async with listwatch(ScriptedServer(response)).watch() as watch:
        await anext(watch)

    assert response.stream.closed_at == 0  # type: ignore[union-attr]  # the stream is the test's own Body


async def test_an_event_for_an_object_of_another_shard_is_a_deletion() -> None:
    ours, foreign = pod("a", 1, uid=OURS), pod("a", 2, uid=FOREIGN)
    server = ScriptedServer(
        stream(event("ADDED", ours) + event("MODIFIED", foreign) + event("DELETED", foreign) + bookmark(9))
    )
    everything: dict[str, Any] = {"label_selector": LabelSelector(), "field_selector": FieldSelector()}
    collection = ListWatch(connect(server).rest, PODS, shard=HashShard(1, 2), **everything)

    async with collection.watch() as watch:
        received = [event async for batch in watch for event in batch]

    gone = Deleted(Unstructured(foreign))
    assert received == [Added(Unstructured(ours)), gone, gone, Bookmark("9")]
