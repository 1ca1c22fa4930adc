"""The keys that threads reconcile: also threads that a run has left behind, as they cannot be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dynkube.controllers._watches import ObjectKey
from dynkube.errors import ClosedError


class RunningThreads:
    """The keys of one controller that are being reconciled in threads, of all its runs. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[ObjectKey, dict[object, Callable[[], None]]] = {}  # what to call at their end, by run

    @contextmanager
    def reconciling(self, key: ObjectKey) -> Iterator[None]:
        """Reconcile a key during the block, in this thread.

        Raises:
            ClosedError: another thread has just begun to; it was left behind before it had begun.
        """
        with self._lock:
            if key in self._running:
                raise ClosedError(f"{key} is being reconciled by a thread of another run: it is retried")
            self._running[key] = {}
        try:
            yield
        finally:
            with self._lock:
                waiting = self._running.pop(key)
            for notify in waiting.values():
                notify()

    def when_ended(self, key: ObjectKey, run: object, notify: Callable[[], None]) -> bool:
        """Return whether a thread reconciles a key; then ``notify`` is called once that has ended, in that thread.

        Args:
            key: the key.
            run: who waits; called once, however often it has asked.
            notify: must not raise.
        """
        with self._lock:
            if key not in self._running:
                return False
            self._running[key][run] = notify
            return True
