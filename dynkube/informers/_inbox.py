"""Inbox: what the one task that owns a cache is to do, in the order in which it was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import trio

Message: TypeAlias = Callable[[], Awaitable[None]]


class Inbox:
    """Anybody in the event loop posts, and the owner takes. Closed, it keeps nothing, and nobody waits for it."""

    __slots__ = ("_asked", "_closed", "_messages", "_posted")

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._posted = trio.Event()
        self._asked: list[trio.Event] = []  # of those who wait for a message to be done
        self._closed = False

    def post(self, message: Message) -> None:
        """Have the owner do something, after all that was posted before. Does not block."""
        if not self._closed:
            self._messages.append(message)
            self._posted.set()

    async def ask(self, message: Message) -> None:
        """Have the owner do something, and wait until it is done, or will never be as the inbox was closed.

        Cancelling stops the waiting alone: the message is posted.
        """
        if self._closed:
            return await trio.lowlevel.checkpoint()
        done = trio.Event()

        async def do() -> None:
            await message()
            done.set()

        self._asked.append(done)
        self.post(do)
        try:
            await done.wait()
        finally:
            self._asked.remove(done)

    async def take(self) -> list[Message]:
        """What was posted since the last call, in order; waits until there is something."""
        while not self._messages:
            self._posted = trio.Event()
            await self._posted.wait()
        messages, self._messages = self._messages, []
        return messages

    def close(self) -> None:
        """The owner ends: drop what waits, and let those go on who wait for it."""
        self._closed = True
        self._messages.clear()
        for done in self._asked:
            done.set()
