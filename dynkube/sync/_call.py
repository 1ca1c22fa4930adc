"""One blocking call: what is run in the trio thread, and what comes of it for the thread that waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

import trio

from dynkube.errors import ClosedError

T = TypeVar("T")

ENDED: Final = "the trio thread that this belongs to has ended: connect again"
# Seconds after which a waiting thread looks for interrupts by itself. CPython looks between two steps of Python code;
# one that comes after that and before the wait in C wakes nobody, and on Windows none does (python/cpython#74157).
_LOOK: Final = 0.1


class Call(Generic[T]):
    """One call, for one thread that waits.

    That thread may be interrupted at any point. So the two share no lock that Python code takes, as futures have one:
    if an interrupt left it locked, the trio thread would stop for ever. A ``SimpleQueue`` is written in C.

    Args:
        function: what to run.
        on_late: told what it returned, in the trio thread, if whoever waited was interrupted by then.

    Attributes:
        scope: what is cancelled to interrupt it.
        over: whether it has an outcome.
        misfit: whether the function was given arguments that it does not take.
    """

    __slots__ = (
        "_error",
        "_function",
        "_given_up",
        "_on_late",
        "_over",
        "_settled",
        "_value",
        "misfit",
        "over",
        "scope",
    )

    def __init__(self, function: Callable[[], Awaitable[T]], on_late: Callable[[T], object] | None = None) -> None:
        self._function = function
        self._on_late = on_late
        self._given_up = False
        self._over: SimpleQueue[None] = SimpleQueue()
        self._settled: SimpleQueue[None] = SimpleQueue()  # it was given up, and is over
        self._value: T
        self._error: BaseException | None = None
        self.over: bool = False
        self.misfit: bool = False
        self.scope: trio.CancelScope = trio.CancelScope()

    @property
    def name(self) -> str:
        """What the task is called."""
        inner = self._function.func if isinstance(self._function, partial) else self._function
        return str(getattr(inner, "__qualname__", inner))

    # ── in the thread that waits ─────────────────────────────────────────────────────────────

    def result(self) -> T:
        """Wait for what it returns or raises."""
        __tracebackhide__ = True  # IPython leaves such frames out
        while not self.over:
            self.wait(_LOOK)
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self, timeout: float | None) -> None:
        """Wait until it is over, at most so many seconds."""
        with suppress(Empty):
            self._over.get(timeout=timeout)

    def settle(self, timeout: float) -> None:
        """Wait until it is over and known to be given up: what came too late was told by then."""
        with suppress(Empty):
            self._settled.get(timeout=timeout)

    def give_up(self) -> None:
        """Say that nobody will ask for the result any more. To be called in the trio thread."""
        self._given_up = True
        self.scope.cancel()
        if self.over:
            self._tell_late()

    # ── in the trio thread ───────────────────────────────────────────────────────────────────

    async def run(self, calls: set[Call[Any]]) -> None:
        """The task. What its function raises is its caller's, an exit or an interrupt included.

        Args:
            calls: those that are under way; it is among them meanwhile.
        """
        calls.add(self)
        try:
            with self.scope:
                self._value = await self._begun()
                self._end()
        except BaseException as exc:
            if is_cancellation(exc):
                raise
            self._end(exc)  # let out, it would end the loop
        finally:
            calls.discard(self)
            if not self.over:  # cancelled
                self._end(ClosedError(ENDED))

    def _begun(self) -> Awaitable[T]:
        try:
            return self._function()
        except TypeError as exc:  # arguments that do not fit: no code of the function has run
            # The async method may be of a class that whoever called has never heard of.
            exc.args = (str(exc).replace(f"{self.name}()", f"{self.name.rpartition('.')[2]}()"),)
            self.misfit = True
            raise

    def fail(self, error: BaseException) -> None:
        """Have whoever waits get an error, unless there is an outcome already."""
        if not self.over:
            self._end(error)

    def _end(self, error: BaseException | None = None) -> None:
        self._error = error
        self.over = True
        self._over.put(None)
        if self._given_up:
            self._tell_late()

    def _tell_late(self) -> None:
        if self._error is None and self._on_late is not None:
            tell, self._on_late = self._on_late, None
            tell(self._value)
        self._settled.put(None)


def is_cancellation(error: BaseException) -> bool:
    """Whether it is trio's word for having been cancelled, alone or in a nursery's group."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(trio.Cancelled)[1] is None
    return isinstance(error, trio.Cancelled)
