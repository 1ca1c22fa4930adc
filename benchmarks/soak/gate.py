"""A gate at which all tasks that write or inject faults can be paused during checks."""

from __future__ import annotations

import trio


class Gate:
    """Pauses ``workers`` tasks, each of which calls :meth:`sleep` repeatedly."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._held = 0
        self._all_held = trio.Event()
        self._closing = trio.Event()
        self._opening = trio.Event()
        self._opening.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep, not counting the time for which the gate is closed. This is the point where a task is paused."""
        while True:
            began = trio.current_time()
            with trio.move_on_after(seconds):
                await self._closing.wait()
            if not self._closing.is_set():
                return
            seconds = max(0.0, seconds - (trio.current_time() - began))
            self._held += 1
            if self._held == self._workers:
                self._all_held.set()
            await self._opening.wait()

    async def close(self) -> None:
        """Pause all tasks, and wait until they are paused."""
        self._held, self._all_held, self._opening = 0, trio.Event(), trio.Event()
        self._closing.set()
        await self._all_held.wait()

    def open(self) -> None:
        """Let the tasks continue."""
        self._closing = trio.Event()
        self._opening.set()
