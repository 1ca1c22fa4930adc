"""The trio thread of this process, which all blocking and asyncio clients share."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final

from dynkube._portal.thread import TrioThread


class Process:
    """The trio thread of a process.

    Started on first use, closed at exit, and replaced after a fork.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: TrioThread | None = None
        self._registered = False

    def thread(self) -> TrioThread:
        """Return the thread; start one if none is alive."""
        with self._lock:
            if self._thread is None or not self._thread.alive:
                self._thread = TrioThread()
                if not self._registered:
                    self._registered = True
                    atexit.register(self._close)
                    if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
                        os.register_at_fork(after_in_child=self._forked)
            return self._thread

    def _close(self) -> None:
        if self._thread is not None:
            self._thread.close()

    def _forked(self) -> None:
        self._lock = threading.Lock()  # another thread may have held it
        self._thread = None


PROCESS: Final = Process()  # the only process-wide state; the thread starts at the first connect
