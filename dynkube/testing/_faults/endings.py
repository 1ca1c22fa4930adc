"""How an answer ends that is not let come to its own end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import trio

from dynkube.errors import InvalidInput
from dynkube.testing._asgi import BREAK, ASGIApp, Message, Receive, Scope, Send, offers_break, wait_disconnect

#: ``clean``: a proper end, too early. ``cut``: the connection ends (FIN) and the answer does not. ``reset``: the
#: connection is reset (RST). ``mid-line``: half a line, then as ``cut``. ``mid-chunk``: a chunk of HTTP is announced,
#: and the connection ends inside of it. ``silent``: all stays open, and nothing comes any more.
Ending: TypeAlias = Literal["clean", "cut", "reset", "mid-line", "mid-chunk", "silent"]

# Half a line where there is no real one to cut in two.
HALF_A_LINE = b'{"type":"MODIFIED","object":{"metadata":{"name":"'

# What is itself sent as part of the answer, so that it has to wait where a message is on its way.
_AFTER_A_MESSAGE = frozenset({"clean", "mid-line", "mid-chunk"})


def check_ending(how: str) -> None:
    """Refuse what is no ending.

    Raises:
        InvalidInput: It is none.
    """
    if how not in get_args(Ending):
        *others, last = map(repr, get_args(Ending))
        raise InvalidInput(f"how is {how!r}; give {', '.join(others)} or {last}")


class EndableAnswer:
    """One answer under way that may be ended from outside, once its status line was sent.

    Args:
        scope: ASGI's.
        receive: ASGI's.
        send: ASGI's.
        started: Called with the status, just before the answer starts.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, started: Callable[[int], None] = lambda status: None
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._started = started
        self._ending: Ending | None = None
        self._rest = b""
        self._sending = False
        self._torn = False  # what was sent last may have left in part
        self._due = False
        self._complete = False
        self._cancel = trio.CancelScope()

    @property
    def silent(self) -> bool:
        """Whether nothing comes any more although all is open."""
        return self._ending == "silent"

    def end(self, how: Ending, rest: bytes = HALF_A_LINE) -> None:
        """End it: now, or where it is being sent to, at the next checkpoint there.

        Args:
            how: In which way.
            rest: What still comes where the ending is in the middle of something.
        """
        self._ending, self._rest = how, rest
        if self._sending and how in _AFTER_A_MESSAGE:
            self._due = True
        else:
            self._cancel.cancel()

    def end_at(self, deadline: float, how: Ending) -> None:
        """End it at ``deadline`` on trio's clock, unless it has ended before."""
        self._ending, self._rest = how, HALF_A_LINE
        self._cancel.deadline = deadline

    async def run(self, app: ASGIApp) -> None:
        """Let ``app`` answer until it has, or until the answer is ended."""
        with self._cancel:
            await app(self._scope, self._receive, self.send)
        while self._cancel.cancelled_caught and not self._complete:
            self._sending = False  # whoever was, was cancelled: another ending need not wait for that
            assert self._ending is not None, "nothing else cancels this scope"
            if self._ending != "silent":
                await self._finish(self._ending)
                return
            # Silence ends when the client gives up, or by another ending.
            with trio.CancelScope() as self._cancel:
                await wait_disconnect(self._receive)

    async def send(self, message: Message) -> None:
        """Pass ``message`` on."""
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
            return  # it does not fit behind half a message
        match how:
            case "clean":
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            case "mid-line":
                await self._send({"type": "http.response.body", "body": self._rest, "more_body": True})
            case "reset" | "mid-chunk" if offers_break(self._scope):
                await self._send({"type": BREAK, "how": how, "body": self._rest if how == "mid-chunk" else b""})
            case _:
                pass  # returning now is how ASGI says that the connection is lost
