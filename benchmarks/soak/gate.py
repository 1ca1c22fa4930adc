"""The gate that everybody who disturbs has to pass, so that all of them can be held while things are looked at."""

from __future__ import annotations

import trio


class Gate:
    """Holds ``workers`` tasks, each of which calls :meth:`rest` again and again."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._held = 0
        self._all_held = trio.Event()
        self._closing = trio.Event()
        self._opening = trio.Event()
        self._opening.set()

    async def rest(self, seconds: float) -> None:
        """Sleep for so long, not counting how long the gate was closed; there, at least once, it can be closed."""
        while True:
            begun = trio.current_time()
            with trio.move_on_after(seconds):
                await self._closing.wait()
            if not self._closing.is_set():
                return
            seconds = max(0.0, seconds - (trio.current_time() - begun))
            self._held += 1
            if self._held == self._workers:
                self._all_held.set()
            await self._opening.wait()

    async def close(self) -> None:
        """Have everybody stop, and wait until they have."""
        self._held, self._all_held, self._opening = 0, trio.Event(), trio.Event()
        self._closing.set()
        await self._all_held.wait()

    def open(self) -> None:
        """Let them go on."""
        self._closing = trio.Event()
        self._opening.set()
