"""Rewrite each event of a watch, or the whole body of a response, with a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import msgspec

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.meta._json import UNREADABLE
from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send, header, without_header
from dynkube_testing._faults.facts import RequestFacts

#: The replacement for a document: a document; raw bytes (for a watch including the newline); a list of these; or
#: ``None`` to send nothing.
Rewritten: TypeAlias = "dict[str, Any] | bytes | list[dict[str, Any] | bytes] | None"
Rewriter: TypeAlias = Callable[[dict[str, Any]], Rewritten]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Rewrite the response's JSON with ``function``.

    ``function`` is called for each event of a watch, and once for the body of any other response. It gets the decoded
    event (``{"type": ..., "object": ...}``) or body, and may modify it. It returns the replacement: a document, bytes
    to send unchanged, a list of these, or ``None`` to send nothing. ``dynkube_testing.rewrites`` has functions for
    common cases. Responses in other formats than JSON are not changed.

    Args:
        function: Function that is called with a decoded document and returns its replacement.
        skip: How many events of each watch to leave unchanged first.
        times: How many events of each watch to rewrite after these; ``None`` for all.

    Raises:
        InvalidInput: ``function`` is not callable, ``skip`` is negative, or ``times`` is not positive.
    """

    function: Rewriter
    _: KW_ONLY
    skip: int = 0
    times: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInput(f"function is {self.function!r}: pass a function of the decoded document")
        if self.skip < 0:
            raise InvalidInput(f"skip is {self.skip}: pass 0 or a positive number of events")
        if self.times is not None and self.times < 1:
            raise InvalidInput(f"times is {self.times}: pass a positive number of events, or None for all")

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response rewritten by ``function``."""
        rewriting = _Rewriting(self, send, is_watch=request.verb == "watch")
        await app(without_header(scope, b"accept-encoding"), receive, rewriting.send)
        await rewriting.flush()


class _Rewriting:
    """State of one response that is being rewritten."""

    def __init__(self, rewrite: Rewrite, send: Send, *, is_watch: bool) -> None:
        self._function = rewrite.function
        self._skip = rewrite.skip
        self._times = rewrite.times
        self._send = send
        self._is_watch = is_watch
        self._as_it_is = False
        self._held = bytearray()

    async def send(self, message: Message) -> None:
        """Rewrite and send ``message``."""
        if message["type"] == "http.response.start":
            self._as_it_is = not header(message, b"content-type").startswith("application/json")
            self._is_watch = self._is_watch and message["status"] == 200
            await self._send(message if self._as_it_is else without_header(message, b"content-length"))
        elif message["type"] != "http.response.body" or self._as_it_is:
            self._as_it_is = True  # e.g. BREAK: the connection is ending, so rewrite nothing more
            await self._send(message)
        else:
            more: bool = message.get("more_body", False)
            self._held += message.get("body", b"")
            rewritten = b"".join(self._lines(last=not more)) if self._is_watch else b"" if more else self._whole()
            await self._send({**message, "body": rewritten})

    async def flush(self) -> None:
        """Send the incomplete line that is left if a newer fault has truncated the watch."""
        if self._held and self._is_watch and not self._as_it_is:
            await self._send({"type": "http.response.body", "body": bytes(self._held), "more_body": True})

    def _lines(self, *, last: bool) -> Iterator[bytes]:
        *lines, rest = bytes(self._held).split(b"\n")
        self._held[:] = b"" if last else rest
        for line in lines:
            if self._skip or self._times == 0:
                self._skip = max(0, self._skip - 1)
                yield line + b"\n"
                continue
            if self._times is not None:
                self._times -= 1
            yield from self._rewritten(line, b"\n")
        if last:
            yield rest

    def _whole(self) -> bytes:
        return b"".join(self._rewritten(bytes(self._held), b""))

    def _rewritten(self, data: bytes, end: bytes) -> Iterator[bytes]:
        try:
            document = msgspec.json.decode(data, type=dict[str, Any])
        except UNREADABLE:
            yield data + end  # already made invalid by a newer fault
            return
        result = self._function(document)
        for piece in result if isinstance(result, list) else () if result is None else (result,):
            if not isinstance(piece, bytes | dict):
                raise InvalidInput(
                    f"the function of Rewrite returned {a_type(piece)}; it must return a document, bytes, a "
                    "list of these, or None (functions like rewrites.rewind must be called first: rewrites.rewind(10))"
                )
            yield piece if isinstance(piece, bytes) else msgspec.json.encode(piece) + end
