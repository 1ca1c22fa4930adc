"""Inbox: the queue of messages to the task that owns a cache."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import trio

Message: TypeAlias = Callable[[], Awaitable[None]]


class Inbox:
    """A queue of messages, posted by any task in the loop and taken by the owner.

    A message is an async function, which the owner calls. When the inbox is closed, pending messages are dropped and
    waiting tasks are woken.
    """

    __slots__ = ("_closed", "_messages", "_posted", "_waiting")

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._posted = trio.Event()
        self._waiting: list[trio.Event] = []  # one for each call of ask() in progress
        self._closed = False

    def post(self, message: Message) -> None:
        """Post a message, to be processed in order. Does not block."""
        if not self._closed:
            self._messages.append(message)
            self._posted.set()

    async def ask(self, message: Message) -> None:
        """Post a message, and wait until it was processed or the inbox was closed.

        Cancellation only stops the waiting; the message stays posted.
        """
        if self._closed:
            return await trio.lowlevel.checkpoint()
        done = trio.Event()

        async def do() -> None:
            await message()
            done.set()

        self._waiting.append(done)
        self.post(do)
        try:
            await done.wait()
        finally:
            self._waiting.remove(done)

    async def take(self) -> list[Message]:
        """Wait for messages, and return all that were posted since the last call."""
        while not self._messages:
            self._posted = trio.Event()
            await self._posted.wait()
        messages, self._messages = self._messages, []
        return messages

    def close(self) -> None:
        """Drop pending messages, and wake the tasks that wait for them."""
        self._closed = True
        self._messages.clear()
        for done in self._waiting:
            done.set()
