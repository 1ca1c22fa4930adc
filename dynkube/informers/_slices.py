"""Time slices for long computations in the event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import trio

T = TypeVar("T")


class Slices:
    """Yields to other tasks after ``budget`` seconds of computation.

    The budget is in real seconds, even if trio's clock is virtual. Call it between small batches::

        for batch in batches(objects):
            ...  # synchronous work
            await slices.checkpoint_if_due()

    Args:
        clock: returns real time in seconds.
        budget: the length of a slice in seconds.
    """

    __slots__ = ("_budget", "_clock", "_until")

    def __init__(self, clock: Callable[[], float], *, budget: float = 0.003) -> None:
        self._clock = clock
        self._budget = budget
        self._until = clock() + budget

    @property
    def over(self) -> bool:
        """Whether the slice is used up."""
        return self._clock() >= self._until

    async def checkpoint_if_due(self) -> None:
        """Execute a checkpoint if the slice is used up, else return at once."""
        if self.over:
            await self.rest()

    async def run(self, steps: Iterable[None]) -> None:
        """Execute short steps, with a checkpoint whenever the slice is used up."""
        for _ in steps:
            await self.checkpoint_if_due()

    async def rest(self) -> None:
        """Execute a checkpoint, and start a new slice."""
        await trio.lowlevel.checkpoint()
        self._until = self._clock() + self._budget


def batches(items: Iterable[T], size: int = 64) -> Iterator[list[T]]:
    """Split ``items`` into lists of at most ``size``."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
