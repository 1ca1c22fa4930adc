"""One input, tried in this process: what came of it, and the seconds, the memory and the event loop's time it took."""

from __future__ import annotations

import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import trio

from benchmarks.measure import memory

MEMORY_LIMIT = 3 << 30  # bytes of address space; what needs more fails with a MemoryError
_TICK = 0.005  # seconds between two looks at whether the loop still comes round


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one input did.

    Attributes:
        size: bytes of the input.
        result: what came of it, in a few words: an error's class and its first words, or what was accepted.
        seconds: from the moment it was given.
        grown_mb: growth of the peak resident set, MiB.
        held_ms: the longest time in which the event loop did not come round, milliseconds.
    """

    size: int
    result: str
    seconds: float
    grown_mb: float
    held_ms: float


class Trial:
    """Given to each case: it says how large the input is, and when it is given."""

    def __init__(self) -> None:
        self.size = 0
        self._started: float | None = None
        self._memory = 0.0
        self._worst = 0.0

    def give(self, size: int) -> None:
        """From here on it is measured: an input of ``size`` bytes is given to the library."""
        self.size = size
        self._memory = memory("VmHWM")
        self._worst = 0.0
        self._started = time.perf_counter()

    async def _watch_loop(self, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        while True:
            before = time.perf_counter()
            await trio.sleep(_TICK)
            since = max(before, self._started or 0.0)  # not what was set up before
            self._worst = max(self._worst, time.perf_counter() - since - _TICK)

    async def run(self, case: Case) -> Outcome:
        """Run a case to its end."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._watch_loop)
            result = await case(self)
            ended = time.perf_counter()
            await trio.sleep(_TICK)  # so that a hold at the very end is seen
            nursery.cancel_scope.cancel()
        assert self._started is not None, "the case did not say when the input is given"
        grown = memory("VmHWM") - self._memory
        return Outcome(self.size, result, ended - self._started, grown, self._worst * 1000)


Case: TypeAlias = Callable[[Trial], Awaitable[str]]


def outcome_of(error: BaseException) -> str:
    """An error in a few words."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:110]}{'...' if len(text) > 110 else ''}"


def limit_memory() -> None:
    """Keep this process from taking the machine with it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
