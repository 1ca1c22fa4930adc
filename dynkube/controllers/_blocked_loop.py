"""Reports reconciles that block the event loop, with the key and the line of code."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

import trio

from dynkube._logs import get_logger
from dynkube.controllers._watches import ObjectKey

_FRAMES: Final = 8  # innermost ones, in the report

_log: Final = get_logger("dynkube.controllers")


class _Reconcile(NamedTuple):
    """The reconcile that a task belongs to."""

    reporter: BlockedLoop
    controller: str
    key: ObjectKey


_current: Final[ContextVar[_Reconcile | None]] = ContextVar("dynkube_reconcile", default=None)


class BlockedLoop(trio.abc.Instrument):
    """Logs a warning if a reconcile blocks the event loop: after some time, and again when it ends.

    A blocked event loop stops all controllers, informers, the renewal of the lease and the probes. Only another thread
    can see it, so there is one.

    Args:
        clock: seconds, callable in any thread; not the clock of the event loop, which may be virtual.
        limit: seconds that one step of a task may take, from one checkpoint to the next.
    """

    def __init__(self, clock: Callable[[], float], *, limit: float) -> None:
        self._clock = clock
        self._limit = limit
        self._step: tuple[trio.lowlevel.Task, float] | None = None
        self._reported: object = None  # a step
        self._loop = threading.get_ident()
        self._ended = threading.Event()
        self._counts: Counter[str] = Counter()

    def count(self, controller: str) -> int:
        """Return how often reconciles of a controller were reported."""
        return self._counts[controller]

    @contextmanager
    def reconciling(self, controller: str, key: ObjectKey) -> Iterator[None]:
        """Attribute the steps of this task, and of those that it starts, to a reconcile."""
        token = _current.set(_Reconcile(self, controller, key))
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the event loop of this thread during the block."""
        thread = threading.Thread(target=self._watch, name="dynkube: blocked event loop", daemon=True)
        trio.lowlevel.add_instrument(self)
        thread.start()
        try:
            yield
        finally:
            trio.lowlevel.remove_instrument(self)
            self._ended.set()
            thread.join()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note the start of a step."""
        self._step = (task, self._clock())

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note the end of a step."""
        step, self._step = self._step, None
        if step is not None and step is self._reported and (reconcile := task.context.get(_current)) is not None:
            seconds = self._clock() - step[1]
            _log.warning(
                "controller %s: reconciling %s blocked the event loop for %.1f s, and no longer does",
                reconcile.controller,
                reconcile.key,
                seconds,
                extra={"controller": reconcile.controller, "key": str(reconcile.key), "seconds": seconds},
            )

    # ── in the other thread ──────────────────────────────────────────────────────────────────

    def _watch(self) -> None:
        while not self._ended.wait(self._limit / 2):
            step = self._step
            if step is None or step is self._reported or self._clock() - step[1] <= self._limit:
                continue
            reconcile = step[0].context.get(_current)
            if reconcile is not None and reconcile.reporter is self:
                self._reported = step
                self._report(reconcile)

    def _report(self, reconcile: _Reconcile) -> None:
        self._counts[reconcile.controller] += 1
        if not _log.isEnabledFor(logging.WARNING):
            return
        frame = sys._current_frames().get(self._loop)
        stack = "" if frame is None else "".join(traceback.format_stack(frame)[-_FRAMES:])
        extra: dict[str, object] = {"controller": reconcile.controller, "key": str(reconcile.key)}
        record = _log.makeRecord(
            _log.name,
            logging.WARNING,
            __file__,
            0,
            "controller %s: reconciling %s has blocked the event loop for more than %g s, which stops all other tasks: "
            "await instead, or pass a plain function, which is called in a thread",
            (reconcile.controller, reconcile.key, self._limit),
            None,
            extra=extra,
            sinfo=f"The event loop's thread is here:\n{stack}",
        )
        _log.handle(record)
