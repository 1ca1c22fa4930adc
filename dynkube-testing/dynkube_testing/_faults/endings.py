"""Responses that can be ended early, in several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import trio

from dynkube.errors import InvalidInput
from dynkube_testing._asgi import BREAK, ASGIApp, Message, Receive, Scope, Send, offers_break, wait_disconnect

#: How a response is ended early. ``clean``: regularly. ``cut``: incomplete, the connection is closed (FIN). ``reset``:
#: the connection is reset (RST). ``mid-line``: half a line is sent, then the connection is closed. ``mid-chunk``: the
#: connection is closed inside an HTTP chunk. ``silent``: the connection stays open, and nothing more is sent.
Ending: TypeAlias = Literal["clean", "cut", "reset", "mid-line", "mid-chunk", "silent"]

# The half line that is sent for "mid-line" and "mid-chunk" if there is no real line to truncate.
HALF_A_LINE = b'{"type":"MODIFIED","object":{"metadata":{"name":"'

# These endings send data themselves, so a message that is being sent must be complete first.
_AFTER_A_MESSAGE = frozenset({"clean", "mid-line", "mid-chunk"})


def check_how(how: str, known: object = Ending) -> None:
    """Check that ``how`` is one of the strings of the literal type ``known``.

    Raises:
        InvalidInput: ``how`` is not one of them.
    """
    if how not in get_args(known):
        *others, last = map(repr, get_args(known))
        raise InvalidInput(f"how is {how!r}: pass {', '.join(others)} or {last}")


class EndableAnswer:
    """A response in progress that can be ended from another task.

    It must not be ended before its status has been sent.

    Args:
        scope: ASGI scope.
        receive: ASGI receive.
        send: ASGI send.
        started: Called with the HTTP status just before the response starts.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, started: Callable[[int], None] = lambda status: None
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._started = started
        self._ending: Ending | None = None
        self._rest = b""
        self._sending = False
        self._torn = False  # whether the last message may have been sent only in part
        self._due = False
        self._complete = False
        self._cancel = trio.CancelScope()

    @property
    def silent(self) -> bool:
        """Whether the response was ended with ``silent``, so that it is still open."""
        return self._ending == "silent"

    def end(self, how: Ending, rest: bytes = HALF_A_LINE) -> None:
        """End the response at the next checkpoint of the task that sends it.

        Args:
            how: How to end it.
            rest: The incomplete line to send last, for ``mid-line`` and ``mid-chunk``.
        """
        self._ending, self._rest = how, rest
        if self._sending and how in _AFTER_A_MESSAGE:
            self._due = True
        else:
            self._cancel.cancel()

    def end_at(self, deadline: float, how: Ending) -> None:
        """End the response at ``deadline`` on trio's clock, unless it ends earlier."""
        self._ending, self._rest = how, HALF_A_LINE
        self._cancel.deadline = deadline

    async def run(self, app: ASGIApp) -> None:
        """Run ``app`` until its response is complete or ended."""
        with self._cancel:
            await app(self._scope, self._receive, self.send)
        while self._cancel.cancelled_caught and not self._complete:
            self._sending = False  # sending was cancelled, so a later end() need not wait for it
            assert self._ending is not None, "nothing else cancels this scope"
            if self._ending != "silent":
                await self._finish(self._ending)
                return
            # A silent response ends when the client disconnects, or when end() is called again.
            with trio.CancelScope() as self._cancel:
                await wait_disconnect(self._receive)

    async def send(self, message: Message) -> None:
        """Send ``message``."""
        if message["type"] == "http.response.start":
            self._started(message["status"])
        self._sending = self._torn = True
        await self._send(message)
        self._sending = self._torn = False
        if self._due:
            self._cancel.cancel()
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def _finish(self, how: Ending) -> None:
        if self._torn and how in _AFTER_A_MESSAGE:
            return  # half a message was sent, so more data would only make the response invalid
        match how:
            case "clean":
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            case "mid-line":
                await self._send({"type": "http.response.body", "body": self._rest, "more_body": True})
            case "reset" | "mid-chunk" if offers_break(self._scope):
                await self._send({"type": BREAK, "how": how, "body": self._rest if how == "mid-chunk" else b""})
            case _:
                pass  # returning before the response is complete makes an ASGI server close the connection
