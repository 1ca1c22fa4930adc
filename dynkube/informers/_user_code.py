"""Detects calls from inside a user's filter or index function."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Final

from dynkube.informers._cache.index import Index
from dynkube.informers._views.applied_filter import AppliedFilter

_ASKING: Final[frozenset[CodeType]] = frozenset({AppliedFilter.shown.__code__, Index._values.__code__})


def in_function_of_a_read() -> bool:
    """Return whether a user's filter or index function is on this thread's stack.

    Such functions are called by reads. Inspecting the stack takes some microseconds, so call this only before waiting
    for the network. The alternative, a flag set and reset by each read, would slow down all reads, and an interrupt in
    between would leave it set.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code not in _ASKING:
        frame = frame.f_back
    return frame is not None
