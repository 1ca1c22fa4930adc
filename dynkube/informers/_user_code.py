"""Tells whether code runs inside of a filter or an index function, which are asked by whichever thread reads."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Final

from dynkube.informers._applied import AppliedFilter
from dynkube.informers._index import Index

_ASKING: Final[frozenset[CodeType]] = frozenset({AppliedFilter.shown.__code__, Index._values.__code__})


def in_function_of_a_read() -> bool:
    """Whether the caller is being called, however indirectly, by a user's filter or index function, in this thread.

    Looks at the stack, which costs some microseconds: for those who are about to wait for the network. A mark that
    each read sets and takes back would cost all reads, and an interrupt between the two would leave it set.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code not in _ASKING:
        frame = frame.f_back
    return frame is not None
