"""Answers that are not what the server said: each event of a watch, or a whole body, through a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import msgspec

from dynkube.errors import InvalidInput
from dynkube.meta import UNREADABLE, a_type
from dynkube.testing._asgi import ASGIApp, Message, Receive, Scope, Send
from dynkube.testing._faults.facts import RequestFacts
from dynkube.testing._faults.headers import header, without_header

#: What is sent in place of one document: another, raw bytes (a line of a watch with its newline), several, or nothing.
Rewritten: TypeAlias = "dict[str, Any] | bytes | list[dict[str, Any] | bytes] | None"
Rewriter: TypeAlias = Callable[[dict[str, Any]], Rewritten]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The answer's JSON goes through ``function``: event by event for a watch, as a whole for everything else.

    ``function`` gets the decoded event (``{"type": ..., "object": ...}``) or body and may change it. What it returns is
    sent in its place: a document, bytes as they are, a list of these, or ``None`` for nothing.
    ``dynkube.testing.rewrites`` has ready-made ones. Answers in other formats pass as they are.

    Args:
        function: What to make of it.
        skip: How many events of each watch pass as they are before the first that does not.
        times: How many events of each watch are rewritten; ``None`` for all.

    Raises:
        InvalidInput: ``function`` is none, ``skip`` is negative, or ``times`` is not positive.
    """

    function: Rewriter
    _: KW_ONLY
    skip: int = 0
    times: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInput(f"function is {self.function!r}; give a function of the decoded document")
        if self.skip < 0:
            raise InvalidInput(f"skip is {self.skip}; give 0 or a positive number of events")
        if self.times is not None and self.times < 1:
            raise InvalidInput(f"times is {self.times}; give a positive number of events, or None for all")

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what ``function`` makes of the answer."""
        rewriting = _Rewriting(self, send, is_watch=request.verb == "watch")
        await app(without_header(scope, b"accept-encoding"), receive, rewriting.send)
        await rewriting.flush()


class _Rewriting:
    """One answer on its way through."""

    def __init__(self, rewrite: Rewrite, send: Send, *, is_watch: bool) -> None:
        self._function = rewrite.function
        self._skip = rewrite.skip
        self._times = rewrite.times
        self._send = send
        self._is_watch = is_watch
        self._as_it_is = False
        self._held = bytearray()

    async def send(self, message: Message) -> None:
        """Pass ``message`` on, rewritten."""
        if message["type"] == "http.response.start":
            self._as_it_is = not header(message, b"content-type").startswith("application/json")
            self._is_watch = self._is_watch and message["status"] == 200
            await self._send(message if self._as_it_is else without_header(message, b"content-length"))
        elif message["type"] != "http.response.body" or self._as_it_is:
            self._as_it_is = True  # whatever comes now, comes behind what ends the connection
            await self._send(message)
        else:
            more: bool = message.get("more_body", False)
            self._held += message.get("body", b"")
            rewritten = b"".join(self._lines(last=not more)) if self._is_watch else b"" if more else self._whole()
            await self._send({**message, "body": rewritten})

    async def flush(self) -> None:
        """Pass on half a line, where a younger fault has ended the answer in it."""
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
            yield data + end  # a younger fault has been here before
            return
        result = self._function(document)
        for piece in result if isinstance(result, list) else () if result is None else (result,):
            if not isinstance(piece, bytes | dict):
                raise InvalidInput(
                    f"the function of Rewrite returned {a_type(piece)}; it has to return a document, bytes, a "
                    "list of these, or None (and rewrites.rewind and its like are called first: rewrites.rewind(10))"
                )
            yield piece if isinstance(piece, bytes) else msgspec.json.encode(piece) + end
