"""Calculations on large objects, which would hold the loop for too long: they are done in a thread beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from dynkube.errors import InvalidObject
from dynkube.meta import Unstructured

T = TypeVar("T")

# Comparing two objects takes about a microsecond a byte.
_MOST_AT_ONCE: Final = 32_000


async def calculated(calculation: Callable[[], T], *objects: Unstructured | None) -> T:
    """What a pure function gives, without holding the loop.

    Args:
        calculation: The function. A thread that is cancelled runs to its end, and its result is dropped.
        objects: What it works on, for their sizes: with small ones it runs at once.

    Raises:
        InvalidObject: One of the objects is nested deeper than Python can follow.
    """
    try:
        if sum(len(obj.json) for obj in objects if obj is not None) <= _MOST_AT_ONCE:
            return calculation()
        return await trio.to_thread.run_sync(calculation, abandon_on_cancel=True)
    except RecursionError:
        which = next(obj for obj in objects if obj is not None)
        raise InvalidObject(f"{which!r} is nested too deeply to be worked on: make it flatter") from None
