"""Turns: thousands of handlers may have something to do, and the event loop comes to other things all the same.

Each handler has a task, and the loop runs every task that is ready before it looks at sockets and deadlines again. So
it is not enough that each of them works for a slice only. They share one: who finds it used up waits in line, and a few
at a time get on, each time that the loop has been round.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

# Seconds between one handler's work and the next one's, after which something else has run: the loop has been round,
# mostly. Where nothing has, a handler is late by that much and no more.
_GAP: Final = 0.0001
_AT_ONCE: Final = 8  # of the line; most have a single event, and a round of the loop for each would cost more than that


class Turns:
    """The one slice of all handlers of a client.

    Args:
        clock: measures it, in seconds.
        budget: its length.
        start: starts a task that ends by itself, beside the handlers.
    """

    __slots__ = ("_alone", "_budget", "_clock", "_last", "_line", "_moving", "_since", "_start")

    def __init__(
        self, clock: Callable[[], float], budget: float, start: Callable[[Callable[[], Awaitable[None]]], object]
    ) -> None:
        self._clock = clock
        self._budget = budget
        self._start = start
        self._since = self._last = clock()
        self._line = trio.lowlevel.ParkingLot()
        self._moving = False  # whether a task lets the line get on
        self._alone = False  # whether a handler waits without a line

    def begin(self) -> None:
        """A handler begins to work, after it has waited for something."""
        now = self._clock()
        if now - self._last > _GAP:
            self._since = now
        self._last = now

    @property
    def over(self) -> bool:
        """Whether the slice is used up; to be asked when an event was handled."""
        self._last = now = self._clock()
        return now - self._since >= self._budget

    async def wait(self) -> None:
        """Wait for the next turn, which is good for one event at least: in line, unless nobody else waits."""
        if self._moving or self._alone:
            await self._wait_in_line()
            return
        self._alone = True
        try:
            await trio.lowlevel.checkpoint()
        finally:
            self._alone = False
        self._since = self._last = self._clock()

    async def _wait_in_line(self) -> None:
        if not self._moving:
            self._moving = True
            self._start(self._move)
        await self._line.park()

    async def _move(self) -> None:
        """Let a few of the line get on in each round of the loop, as long as there is one."""
        try:
            while self._line:
                self._since = self._last = self._clock()
                self._line.unpark(count=_AT_ONCE)
                await trio.lowlevel.checkpoint()
        finally:
            self._moving = False
