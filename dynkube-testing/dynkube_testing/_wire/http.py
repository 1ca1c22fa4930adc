"""HTTP requests parsed from ASGI scopes, and responses sent through ASGI ``send``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

import trio

from dynkube_testing._asgi import UPGRADE, Receive, Scope, Send, offers_threads

# Large bodies are sent in chunks of this many bytes, so that copying a list of 20,000 objects does not block the event
# loop.
CHUNK = 256 * 1024

_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class BodyTooLarge(Exception):
    """The request body exceeds the maximum size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HTTPRequest:
    """The request line and headers of a request.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: Unquoted path, without the query.
        segments: The unquoted path split at slashes. As in a real server, quoted slashes separate segments, too.
        params: The first value of each query parameter, without malformed parameters.
        headers: Header values by lower-case name; repeated headers are joined by commas.
        fields: Header values by lower-case name; repeated headers are separate values.
        threads: Whether slow work may run in worker threads.
        query: The query, encoded.
        upgraded: Waits until the response 101 was sent, and returns the connection; ``None`` if the server cannot
            switch to another protocol (:data:`~dynkube_testing._asgi.UPGRADE`).
    """

    method: str
    path: str
    segments: tuple[str, ...]
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    threads: bool = False
    query: str = ""
    upgraded: Callable[[], Awaitable[trio.abc.Stream]] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_scope(cls, scope: Scope) -> HTTPRequest:
        """Build a request from an ASGI ``http`` scope."""
        raw = scope.get("raw_path")
        path = raw.decode("ascii", "replace") if raw else scope["path"]
        fields: dict[str, tuple[str, ...]] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            fields[key] = (*fields.get(key, ()), value.decode("latin-1"))
        query = scope["query_string"].decode("utf-8", "replace")
        return cls(
            method=scope["method"],
            path=scope["path"],
            segments=tuple(parts.split("/")) if (parts := unquote(path).strip("/")) else (),
            params=_params(query),
            headers={key: ", ".join(values) for key, values in fields.items()},
            fields=fields,
            threads=offers_threads(scope),
            query=query,
            upgraded=(scope.get("extensions") or {}).get(UPGRADE, {}).get("stream"),
        )

    @property
    def content_type(self) -> str:
        """Media type of the body in lower case, without parameters.

        It is ``""`` without a Content-Type.
        """
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def requests_upgrade(self, protocol: str) -> bool:
        """Return whether the client requests to switch to ``protocol`` (in lower case), and the server can do that."""
        connection, upgrade = self.headers.get("connection", "").lower(), self.headers.get("upgrade", "").lower()
        return "upgrade" in connection and upgrade == protocol and self.upgraded is not None

    def values(self, name: str) -> tuple[str, ...]:
        """Return all values of a query parameter."""
        return tuple(value for key, value in _pairs(self.query) if key == name)

    def flag(self, name: str) -> bool:
        """Return a boolean parameter.

        As in kube-apiserver, it is true if it is present and neither ``false`` nor ``0``.
        """
        value = self.params.get(name)
        return value is not None and value.lower() not in {"false", "0"}


def _params(query: str) -> dict[str, str]:
    """Return the first value of each query parameter.

    As in Go, malformed parameters are ignored.
    """
    params: dict[str, str] = {}
    for name, value in _pairs(query):
        params.setdefault(name, value)
    return params


def _pairs(query: str) -> list[tuple[str, str]]:
    """Return names and values of the query parameters that are not malformed."""
    sound = "&".join(part for part in query.split("&") if not _BAD_ESCAPE.search(part) and ";" not in part)
    return parse_qsl(sound, keep_blank_values=True)


async def read_body(receive: Receive, limit: int) -> bytes:
    """Read and return the whole request body.

    Raises:
        BodyTooLarge: The body exceeds ``limit`` bytes; the rest is left unread.
        ClientGone: The connection ended before the body was complete.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return b"".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A complete HTTP response."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    async def write(self, send: Send) -> None:
        """Send the response, with the body in chunks of at most :data:`CHUNK` bytes."""
        await start(send, self.status, self.content_type, (*self.headers, ("Content-Length", str(len(self.body)))))
        view = memoryview(self.body)
        for offset in range(0, len(view) - CHUNK, CHUNK):
            await send_chunk(send, bytes(view[offset : offset + CHUNK]))
        rest = (len(view) - 1) // CHUNK * CHUNK if len(view) > CHUNK else 0
        await send_chunk(send, bytes(view[rest:]), last=True)


async def start(send: Send, status: int, content_type: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
    """Send the status line and the headers.

    Caching is forbidden, unless ``headers`` contain Cache-Control.
    """
    cached = any(name == "Cache-Control" for name, _ in headers)
    caching = () if cached else (("Cache-Control", "no-cache, private"),)
    fields = (("Content-Type", content_type), *caching, *headers)
    encoded = [(name.lower().encode("ascii"), value.encode()) for name, value in fields]
    await send({"type": "http.response.start", "status": status, "headers": encoded})


async def send_chunk(send: Send, data: bytes, *, last: bool = False) -> None:
    """Send one chunk of the body."""
    await send({"type": "http.response.body", "body": data, "more_body": not last})
