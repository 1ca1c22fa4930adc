"""Responses that can be ended early, in several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import trio

from dynkube.errors import InvalidInput
from dynkube.testing._asgi import BREAK, ASGIApp, Message, Receive, Scope, Send, offers_break, wait_disconnect

#: ``clean``: the response ends regularly, but early. ``cut``: the connection is closed (FIN) and the response is
#: incomplete. ``reset``: the connection is reset (RST). ``mid-line``: half a line, then as ``cut``. ``mid-chunk``: the
#: connection is closed inside an HTTP chunk. ``silent``: the connection stays open, and nothing more is sent.
Ending: TypeAlias = Literal["clean", "cut", "reset", "mid-line", "mid-chunk", "silent"]

# Sent for an ending inside a line if there is no real line to truncate.
HALF_A_LINE = b'{"type":"MODIFIED","object":{"metadata":{"name":"'

# These endings send a message themselves, so they have to wait until a message being sent is complete.
_AFTER_A_MESSAGE = frozenset({"clean", "mid-line", "mid-chunk"})


def check_ending(how: str) -> None:
    """Check that ``how`` is an :data:`Ending`.

    Raises:
        InvalidInput: It is not.
    """
    if how not in get_args(Ending):
        *others, last = map(repr, get_args(Ending))
        raise InvalidInput(f"how is {how!r}; give {', '.join(others)} or {last}")


class EndableAnswer:
    """A response in progress that can be ended from another task.

    It must not be ended before its status has been sent.

    Args:
        scope: ASGI scope.
        receive: ASGI receive.
        send: ASGI send.
        started: Called with the status just before the response starts.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, started: Callable[[int], None] = lambda status: None
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._started = started
        self._ending: Ending | None = None
        self._rest = b""
        self._sending = False
        self._torn = False  # the last message may have been sent in part
        self._due = False
        self._complete = False
        self._cancel = trio.CancelScope()

    @property
    def silent(self) -> bool:
        """Whether the response was ended by ``silent`` and is still open."""
        return self._ending == "silent"

    def end(self, how: Ending, rest: bytes = HALF_A_LINE) -> None:
        """End the response at the next checkpoint of the task that sends it.

        Args:
            how: How it ends.
            rest: The incomplete data sent last, for ``mid-line`` and ``mid-chunk``.
        """
        self._ending, self._rest = how, rest
        if self._sending and how in _AFTER_A_MESSAGE:
            self._due = True
        else:
            self._cancel.cancel()

    def end_at(self, deadline: float, how: Ending) -> None:
        """End the response at ``deadline`` on trio's clock, unless it has ended before."""
        self._ending, self._rest = how, HALF_A_LINE
        self._cancel.deadline = deadline

    async def run(self, app: ASGIApp) -> None:
        """Run ``app`` until its response is complete or ended."""
        with self._cancel:
            await app(self._scope, self._receive, self.send)
        while self._cancel.cancelled_caught and not self._complete:
            self._sending = False  # the sending task was cancelled: another ending need not wait for it
            assert self._ending is not None, "nothing else cancels this scope"
            if self._ending != "silent":
                await self._finish(self._ending)
                return
            # A silent response ends when the client disconnects, or by another ending.
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
            return  # nothing valid can follow half a message
        match how:
            case "clean":
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            case "mid-line":
                await self._send({"type": "http.response.body", "body": self._rest, "more_body": True})
            case "reset" | "mid-chunk" if offers_break(self._scope):
                await self._send({"type": BREAK, "how": how, "body": self._rest if how == "mid-chunk" else b""})
            case _:
                pass  # returning before the response is complete makes an ASGI server close the connection
