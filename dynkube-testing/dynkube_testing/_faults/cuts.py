"""Truncated responses: after a number of lines, bytes or seconds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import trio

from dynkube.errors import InvalidInput
from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send, without_header
from dynkube_testing._faults.effects import check_seconds
from dynkube_testing._faults.endings import EndableAnswer, Ending, check_how
from dynkube_testing._faults.facts import RequestFacts


@dataclass(frozen=True, slots=True)
class Cut:
    """Truncate the response, by default right after its status and headers.

    A response that is complete before the truncation point is not changed. Lines and bytes are counted before
    compression.

    Args:
        how: How the response ends. ``"clean"``: regularly, but early. ``"cut"``: incomplete, the connection is closed
            (FIN). ``"reset"``: the connection is reset (RST). ``"mid-line"``: half of the next line is sent, then the
            connection is closed. ``"mid-chunk"``: the connection is closed inside an HTTP chunk. ``"silent"``: the
            connection stays open and nothing more is sent. With an ASGI server that cannot reset connections or break
            chunks, ``"reset"`` and ``"mid-chunk"`` are the same as ``"cut"``.
        after_lines: Truncate after this many complete lines. Each event of a watch is a line; a list is a single line.
        after_bytes: Truncate after exactly this many bytes of the body.
        after_seconds: Truncate this many seconds after the start of the response.

    Raises:
        InvalidInput: ``how`` is invalid, a number is negative, or more than one ``after_...`` is given.
    """

    how: Ending = "cut"
    _: KW_ONLY
    after_lines: int | None = None
    after_bytes: int | None = None
    after_seconds: float | None = None

    def __post_init__(self) -> None:
        check_how(self.how)
        given = {
            name: value
            for name in ("after_lines", "after_bytes", "after_seconds")
            if (value := getattr(self, name)) is not None
        }
        if len(given) > 1:
            raise InvalidInput(f"give one of {' and '.join(given)}: a response is cut only once")
        for name, value in given.items():
            if name == "after_seconds":
                check_seconds(name, value)
            elif value < 0:
                raise InvalidInput(f"{name} is {value}: pass 0 or a positive number")

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the response until it is truncated."""
        answer = EndableAnswer(without_header(scope, b"accept-encoding"), receive, send)

        async def cut_off(scope: Scope, receive: Receive, send: Send) -> None:
            await app(scope, receive, _Cutting(self, answer).send)

        await answer.run(cut_off)


class _Cutting:
    """Counts the lines or bytes of one response, and ends it at the truncation point."""

    def __init__(self, cut: Cut, answer: EndableAnswer) -> None:
        self._cut = cut
        self._answer = answer
        self._lines = cut.after_lines
        self._bytes = cut.after_bytes if cut.after_bytes is not None or cut.after_lines is not None else 0
        # An ending inside a line needs the data of the next line, so it waits for it.
        self._wants_line = cut.after_lines is not None and cut.how in {"mid-line", "mid-chunk"}

    async def send(self, message: Message) -> None:
        """Forward the part of ``message`` before the truncation point."""
        if message["type"] == "http.response.start":
            await self._start(message)
        elif message["type"] != "http.response.body" or self._cut.after_seconds is not None:
            await self._answer.send(message)
        else:
            await self._body(message)

    async def _start(self, message: Message) -> None:
        # "clean" must not announce more than is sent, and "mid-chunk" needs chunked encoding, which has no
        # content-length.
        if self._cut.how in {"clean", "mid-chunk"}:
            message = without_header(message, b"content-length")
        await self._answer.send(message)
        if self._cut.after_seconds is not None:
            self._answer.end_at(trio.current_time() + self._cut.after_seconds, self._cut.how)
        elif self._enough() and not self._wants_line:
            await self._break_off(b"", b"")

    async def _body(self, message: Message) -> None:
        data: bytes = message.get("body", b"")
        passed = self._passing(data)
        rest = data[passed:]
        if not self._enough() or (self._wants_line and not rest):
            await self._answer.send(message)
            return
        line = rest.partition(b"\n")[0]
        await self._break_off(data[:passed], line[: max(1, len(line) // 2)] if self._wants_line else b"")

    def _passing(self, data: bytes) -> int:
        """Count ``data``, and return how many bytes of it to forward."""
        if self._bytes is not None:
            passing = min(len(data), self._bytes)
            self._bytes -= passing
            return passing
        assert self._lines is not None
        end = 0
        while self._lines and (found := data.find(b"\n", end)) >= 0:
            end = found + 1
            self._lines -= 1
        return len(data) if self._lines else end

    def _enough(self) -> bool:
        return not self._lines if self._bytes is None else not self._bytes

    async def _break_off(self, body: bytes, rest: bytes) -> None:
        # Send a body message even if it is empty: ASGI servers send the headers only with the first one.
        await self._answer.send({"type": "http.response.body", "body": body, "more_body": True})
        self._answer.end(self._cut.how, rest)
        await trio.lowlevel.checkpoint()
