"""Delayed calls on trio's clock."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count

import trio


class Timers:
    """Calls functions after a delay, in the order of their times, in one task.

    Delays that were scheduled before :meth:`run` is called begin when it is called.
    """

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._early: list[tuple[float, Callable[[], None]]] = []
        self._number = count()
        self._running = False
        self._wakeup = trio.Event()

    @property
    def running(self) -> bool:
        """Whether a task executes :meth:`run`, so that functions are called."""
        return self._running

    def after(self, delay: float, action: Callable[[], None]) -> None:
        """Call ``action`` in ``delay`` seconds; ``math.inf`` means never."""
        if delay == math.inf:
            return
        if not self._running:
            self._early.append((delay, action))
            return
        heapq.heappush(self._queue, (trio.current_time() + delay, next(self._number), action))
        self._wakeup.set()

    async def run(self) -> None:
        """Call the scheduled functions at their times, until cancelled."""
        self._running = True
        early, self._early = self._early, []
        for delay, action in early:
            self.after(delay, action)
        try:
            while True:
                await self._sleep()
                while self._queue and self._queue[0][0] <= trio.current_time():
                    heapq.heappop(self._queue)[2]()
                    # Let other tasks run, even if an action always schedules another one without delay.
                    await trio.lowlevel.checkpoint()
        finally:
            self._running = False

    async def _sleep(self) -> None:
        with trio.move_on_at(self._queue[0][0] if self._queue else math.inf):
            await self._wakeup.wait()
        self._wakeup = trio.Event()
