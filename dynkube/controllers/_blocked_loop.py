"""Reports functions of controllers that block the event loop, by name, and with the line of code."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

import trio

from dynkube._logs import get_logger
from dynkube.controllers._watches import ObjectKey
from dynkube.meta import GVK, GVR

_FRAMES: Final = 8  # innermost ones, in the report

_log: Final = get_logger("dynkube.controllers")


class _Call(NamedTuple):
    """The call of a user's function that a task is making, or belongs to; texts are made only when it is reported.

    Attributes:
        reporter: the run that it belongs to.
        controller: the name of the controller.
        function: ``"predicate"`` or ``"mapper"``; ``""`` for a reconcile.
        subject: the key that is reconciled, or the resource whose change the function is called for.
    """

    reporter: BlockedLoop
    controller: str
    function: str
    subject: ObjectKey | str | GVR | GVK

    @property
    def what(self) -> str:
        """The function and what it is called for, in messages."""
        return f"the {self.function} for {self.subject}" if self.function else f"reconciling {self.subject}"

    @property
    def advice(self) -> str:
        """What to do if it blocks."""
        if self.function:
            return "let it only look at the object and at indexes, and do the rest in the reconcile"
        return "await instead, or pass a plain function, which is called in a thread"

    @property
    def extra(self) -> dict[str, object]:
        """The fields of a log record."""
        named: dict[str, object] = {"controller": self.controller}
        return named if self.function else named | {"key": str(self.subject)}


_current: Final[ContextVar[_Call | None]] = ContextVar("dynkube_controller_call", default=None)


class _Calling:
    """Makes a call the current one of the task; a class, as it is entered for each reconcile and each change."""

    __slots__ = ("_call", "_token")

    def __init__(self, call: _Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        self._token = _current.set(self._call)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


class BlockedLoop(trio.abc.Instrument):
    """Logs a warning if a user's function blocks the event loop: after some time, and again when it ends.

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
        self._reported: tuple[object, _Call] | None = None  # a step, and the call that has blocked it
        self._loop = threading.get_ident()
        self._ended = threading.Event()
        self._counts: Counter[str] = Counter()

    def count(self, controller: str) -> int:
        """Return how often functions of a controller were reported."""
        return self._counts[controller]

    def reconciling(self, controller: str, key: ObjectKey) -> AbstractContextManager[None]:
        """Attribute the steps of this task, and of those that it starts, to a reconcile."""
        return _Calling(_Call(self, controller, "", key))

    def mapping(self, controller: str, resource: str | GVR | GVK, function: str) -> AbstractContextManager[None]:
        """Attribute what this task does to a mapper or a predicate, which is called for each change of a resource."""
        return _Calling(_Call(self, controller, function, resource))

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
        reported = self._reported
        if step is None or reported is None or step is not reported[0]:
            return
        call, seconds = reported[1], self._clock() - step[1]
        text = "controller %s: %s blocked the event loop for %.1f s, and no longer does"
        _log.warning(text, call.controller, call.what, seconds, extra=call.extra | {"seconds": seconds})

    # ── in the other thread ──────────────────────────────────────────────────────────────────

    def _watch(self) -> None:
        while not self._ended.wait(self._limit / 2):
            step = self._step
            known = self._reported is not None and self._reported[0] is step
            if step is None or known or self._clock() - step[1] <= self._limit:
                continue
            call = step[0].context.get(_current)
            if call is not None and call.reporter is self:
                self._reported = step, call
                self._report(call)

    def _report(self, call: _Call) -> None:
        self._counts[call.controller] += 1
        if not _log.isEnabledFor(logging.WARNING):
            return
        frame = sys._current_frames().get(self._loop)
        stack = "" if frame is None else "".join(traceback.format_stack(frame)[-_FRAMES:])
        record = _log.makeRecord(
            _log.name,
            logging.WARNING,
            __file__,
            0,
            "controller %s: %s has blocked the event loop for more than %g s, which stops all other tasks: %s",
            (call.controller, call.what, self._limit, call.advice),
            None,
            extra=call.extra,
            sinfo=f"The event loop's thread is here:\n{stack}",
        )
        _log.handle(record)
