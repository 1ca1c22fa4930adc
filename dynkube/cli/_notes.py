"""Messages on standard error."""

from __future__ import annotations

import sys


def note(text: str) -> None:
    """Write a line to standard error and flush it.

    Does nothing if the process was started without standard error (``2>&-``): ``print(file=None)`` would write to
    standard output.
    """
    # Typeshed lacks the None: https://docs.python.org/3/library/sys.html#sys.__stderr__
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)
