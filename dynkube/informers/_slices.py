"""Long work in the event loop, a slice at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import trio

T = TypeVar("T")


class Slices:
    """Gives the loop back to others whenever work has held it for ``budget`` seconds.

    Real seconds, of the processor's clock, also where trio's clock is virtual: it is the machine that
    must not be held up. Use it around small batches::

        for batch in batches(objects):
            ...  # plain work
            await slices.breathe()
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

    async def breathe(self) -> None:
        """A checkpoint if the slice is used up, else nothing."""
        if self.over:
            await self.rest()

    async def rest(self) -> None:
        """A checkpoint in any case, and a new slice."""
        await trio.lowlevel.checkpoint()
        self._until = self._clock() + self._budget


def batches(items: Iterable[T], size: int = 64) -> Iterator[list[T]]:
    """``items`` in lists of at most ``size``, small enough that no batch of them holds the loop for long."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
