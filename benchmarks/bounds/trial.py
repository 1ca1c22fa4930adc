"""The measurement of one input in this process: result, time, memory, and how long the event loop was blocked."""

from __future__ import annotations

import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import trio

from benchmarks.measure import memory

MEMORY_LIMIT = 3 << 30  # bytes of address space; a case that needs more raises a MemoryError
_TICK = 0.005  # seconds; how often the event loop is checked


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one input.

    Attributes:
        size: the size of the input in bytes.
        result: a short description: the class of an error and the start of its message, or what was accepted.
        seconds: the duration from the start of the measurement.
        grown_mb: the growth of the peak resident set in MiB.
        blocked_ms: the longest time for which the event loop was blocked, in milliseconds.
    """

    size: int
    result: str
    seconds: float
    grown_mb: float
    blocked_ms: float


class Trial:
    """A measurement, which each case starts with the size of its input."""

    def __init__(self) -> None:
        self.size = 0
        self._started: float | None = None
        self._memory = 0.0
        self._worst = 0.0

    def start(self, size: int) -> None:
        """Start the measurement: the library is about to process an input of ``size`` bytes."""
        self.size = size
        self._memory = memory("VmHWM")
        self._worst = 0.0
        self._started = time.perf_counter()

    async def _watch_loop(self, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        while True:
            before = time.perf_counter()
            await trio.sleep(_TICK)
            since = max(before, self._started or 0.0)  # not the preparations
            self._worst = max(self._worst, time.perf_counter() - since - _TICK)

    async def run(self, case: Case) -> Outcome:
        """Run a case, and return its outcome."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._watch_loop)
            result = await case(self)
            ended = time.perf_counter()
            await trio.sleep(_TICK)  # so that blocking at the very end is measured
            nursery.cancel_scope.cancel()
        assert self._started is not None, "the case did not start the measurement"
        grown = memory("VmHWM") - self._memory
        return Outcome(self.size, result, ended - self._started, grown, self._worst * 1000)


Case: TypeAlias = Callable[[Trial], Awaitable[str]]


def outcome_of(error: BaseException) -> str:
    """Return a short description of an error."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:110]}{'...' if len(text) > 110 else ''}"


def limit_memory() -> None:
    """Limit the memory of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
