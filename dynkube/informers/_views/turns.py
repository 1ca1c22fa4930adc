"""Turns: limits how long handlers run before the event loop handles I/O again.

There may be thousands of handlers. Each has a task, and the loop runs all ready tasks before it handles I/O and
deadlines again, so a time slice per handler does not suffice. All handlers share one time slice: when it is used up, a
handler waits in a queue, and a few handlers of the queue continue in each iteration of the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

# If no handler has worked for this many seconds, a new slice starts, as the loop has most likely run an iteration in
# between. If it has not, I/O is delayed by at most this time.
_GAP: Final = 0.0001
_AT_ONCE: Final = 8  # handlers woken per iteration; most have one event, which takes less time than an iteration


class Turns:
    """The time slice that all handlers of a client share.

    Args:
        clock: returns real time in seconds.
        budget: the length of the slice in seconds.
        start: starts a background task, which ends by itself.
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
        self._moving = False  # whether the task that wakes the queue is running
        self._alone = False  # whether a handler waits outside of the queue

    def begin(self) -> None:
        """Record that a handler starts to work, after it has waited."""
        now = self._clock()
        if now - self._last > _GAP:
            self._since = now
        self._last = now

    @property
    def over(self) -> bool:
        """Whether the slice is used up; to be read after each event."""
        self._last = now = self._clock()
        return now - self._since >= self._budget

    async def wait(self) -> None:
        """Wait for the next turn, which allows at least one event."""
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
        """Wake a few of the queue in each iteration of the loop until it is empty."""
        try:
            while self._line:
                self._since = self._last = self._clock()
                self._line.unpark(count=_AT_ONCE)
                await trio.lowlevel.checkpoint()
        finally:
            self._moving = False
