"""Run CPU-bound work on large objects in a thread, not to block the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from dynkube.errors import InvalidObject
from dynkube.meta import Unstructured

T = TypeVar("T")

# Comparing two objects takes about a microsecond a byte.
_MOST_AT_ONCE: Final = 32_000


async def run_in_thread_if_large(calculation: Callable[[], T], *objects: Unstructured | None) -> T:
    """Call a pure function: directly for small objects, else in a thread.

    Args:
        calculation: The function. On cancellation the thread runs to its end, and its result is dropped.
        objects: The objects that it processes. Their total size decides whether a thread is used.

    Raises:
        InvalidObject: An object is nested deeper than Python's recursion limit allows.
    """
    try:
        if sum(len(obj.json) for obj in objects if obj is not None) <= _MOST_AT_ONCE:
            return calculation()
        return await trio.to_thread.run_sync(calculation, abandon_on_cancel=True)
    except RecursionError:
        which = next(obj for obj in objects if obj is not None)
        raise InvalidObject(f"{which!r} is nested too deeply to be processed: reduce its nesting") from None
