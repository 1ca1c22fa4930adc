"""Notes to whoever runs a command, on standard error."""

from __future__ import annotations

import sys


def note(text: str) -> None:
    """Write a line to standard error, at once.

    Nothing where the process was started without one (``2>&-``): ``print`` would take standard output then, whose
    reader waits for something else.
    """
    # Typeshed does not know that there may be none: https://docs.python.org/3/library/sys.html#sys.__stderr__
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)
