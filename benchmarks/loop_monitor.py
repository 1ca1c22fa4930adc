"""Measures for how long tasks block the event loop."""

from __future__ import annotations

import time
from typing import Final

import trio

from benchmarks.measure import cpu

_TICK: Final = 0.001  # seconds


class LoopMonitor:
    """Measures for how long other tasks block the event loop; ``held`` in wall time, ``held_cpu`` in CPU time."""

    def __init__(self) -> None:
        self.began = self.wall = time.perf_counter()
        self.began_cpu = self.cpu = cpu()
        self.held = self.held_cpu = 0.0

    async def tick(self) -> None:
        """Sleep for a millisecond, and record how much longer it took."""
        await trio.sleep(_TICK)
        wall, used = time.perf_counter(), cpu()
        self.held = max(self.held, wall - self.wall - _TICK)
        self.held_cpu = max(self.held_cpu, used - self.cpu)
        self.wall, self.cpu = wall, used

    async def run(self) -> None:
        """Tick until cancelled."""
        self.wall, self.cpu = time.perf_counter(), cpu()
        while True:
            await self.tick()
