"""Input from servers: bytes on a connection, and responses with any status, header fields and body."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import httpx2
import trio
import trio.testing
from hypothesis import strategies as st

import dynkube
from dynkube import GVR
from dynkube.rest._transport import PoolTransport
from tests.fuzzing.inputs import edited, texts, values
from tests.rest.sockets import serving

_SECONDS = 20.0  # on the real clock, for a few milliseconds of work: a hang is a finding

# ── bytes on a connection ────────────────────────────────────────────────────────────────────

_BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
_HEADS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_BODY),
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.0 200\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 62\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 62\r\nContent-Length: 63\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 62\n\n",
]
_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_chunked = st.lists(st.binary(min_size=1, max_size=30), max_size=4).map(
    lambda parts: _CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
)
_responses = edited(st.sampled_from([head + _BODY for head in _HEADS]) | _chunked)


def _pieces(message: bytes, places: Sequence[float]) -> list[bytes]:
    cuts = sorted(int(place * len(message)) for place in places)
    return [message[a:b] for a, b in zip([0, *cuts], [*cuts, len(message)], strict=True) if a < b]


connections: st.SearchStrategy[list[bytes]] = st.builds(_pieces, _responses, st.lists(st.floats(0, 1), max_size=3))
"""The bytes of one response, in pieces that are sent one at a time; then the connection is closed."""


def read_response(pieces: Sequence[bytes]) -> None:
    """Check that the response can be read to its end, or raises ``httpx2.TransportError``."""
    trio.run(_read_response, pieces)


async def _read_response(pieces: Sequence[bytes]) -> None:
    async def send(stream: trio.abc.Stream, head: bytes) -> None:
        for piece in pieces:
            await stream.send_all(piece)
        await stream.aclose()

    transport = PoolTransport(ssl_context=None, proxy_url=None, max_connections=None, keepalive=1.0, http2=False)
    with trio.fail_after(_SECONDS):
        async with serving(send) as server, transport:
            try:
                response = await transport.handle_async_request(httpx2.Request("GET", server.url()))
                await response.aread()
                await response.aclose()
            except httpx2.TransportError:
                pass


# ── responses ────────────────────────────────────────────────────────────────────────────────

_STATUSES = [200, 200, 200, 201, 202, 204, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504]
_KEYS = [
    "kind",
    "apiVersion",
    "metadata",
    "items",
    "name",
    "namespace",
    "resourceVersion",
    "continue",
    "status",
    "code",
]
_NAMED = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"}
_OBJECT = {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": _NAMED, "spec": {}}
_LIST = {"kind": "WidgetList", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "9"}, "items": [_OBJECT]}
_STATUS = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "code": 403,
    "reason": "Forbidden",
    "message": "no",
}
_BOOKMARK = {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "9"}}
_EVENTS = [
    {"type": "ADDED", "object": _OBJECT},
    {"type": "BOOKMARK", "object": _BOOKMARK},
    {"type": "DELETED", "object": _OBJECT},
    {"type": "ERROR", "object": {**_STATUS, "code": 410}},
]
_watch = st.lists(st.sampled_from(_EVENTS), max_size=4).map(
    lambda events: b"".join(json.dumps(event).encode() + b"\n" for event in events)
)
_bodies = st.one_of(
    texts(values(_KEYS)),
    edited(st.sampled_from([json.dumps(document).encode() for document in (_OBJECT, _LIST, _STATUS)])),
    edited(_watch),
)
_FIELDS = [
    ("Retry-After", "1"),
    ("Retry-After", "soon"),
    ("Content-Type", "text/html"),
    ("Content-Encoding", "gzip"),
    ("Warning", '299 - "old"'),
    ("Location", "https://other.test/"),
    ("Content-Length", "3"),
]
_DISCOVERY = {
    "/apis/example.com/v1": {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "example.com/v1",
        "resources": [
            {"name": "widgets", "kind": "Widget", "singularName": "widget", "namespaced": True, "verbs": ["list"]}
        ],
    }
}
_WIDGETS = GVR("example.com", "v1", "widgets")
_TIMEOUT = 100.0  # virtual seconds: after them, retries have ended, or go on for ever by design


@dataclass(frozen=True)
class FakeResponse:
    """A server's response: to requests for widgets, and if ``everywhere``, to those for discovery as well."""

    status: int
    body: bytes
    fields: list[tuple[str, str]]
    everywhere: bool

    def respond(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response to ``request``."""
        if not self.everywhere and "widgets" not in request.url.path:
            return httpx2.Response(200, json=_DISCOVERY.get(request.url.path, {}))
        return httpx2.Response(self.status, stream=httpx2.ByteStream(self.body), headers=self.fields)


fake_responses: st.SearchStrategy[FakeResponse] = st.builds(
    FakeResponse, st.sampled_from(_STATUSES), _bodies, st.lists(st.sampled_from(_FIELDS), max_size=2), st.booleans()
)
"""Responses of a server."""


def run_client(response: FakeResponse) -> None:
    """Check that each verb returns a result or raises a ``DynkubeError``, and that an informer continues."""
    trio.run(_run_client, response, clock=trio.testing.MockClock(autojump_threshold=0))


async def _run_client(response: FakeResponse) -> None:
    async with dynkube.connect(transport=httpx2.MockTransport(response.respond)) as client:
        widgets = client.resource(_WIDGETS)
        for verb in (partial(widgets.get, "a", namespace="default"), widgets.list, widgets.table):
            with suppress(dynkube.DynkubeError), trio.move_on_after(_TIMEOUT):
                await verb()
        async with client.informer(_WIDGETS) as informer:
            await trio.sleep(_TIMEOUT)
            str(informer.state)
