"""A call from another thread: an async function in the trio thread, and its outcome."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

import trio

from dynkube.errors import ClosedError

T = TypeVar("T")

ENDED: Final = "the trio thread of this client has ended: connect again"
# Seconds between checks for interrupts in the waiting thread. CPython checks for signals between bytecodes. So a signal
# between the last check and the wait in C does not end the wait, and on Windows no signal does (python/cpython#74157).
_LOOK: Final = 0.1


class Call(Generic[T]):
    """A call, awaited by one caller in another thread; base of the blocking one and of the one for asyncio.

    Args:
        function: the async function to run.
        on_late: called in the trio thread with the function's result, if the caller had given up before it was there.

    Attributes:
        scope: cancelled to interrupt the call.
        over: whether the call has an outcome.
        misfit: whether the function was called with arguments that do not match its signature.
    """

    __slots__ = ("_error", "_function", "_given_up", "_on_late", "_value", "misfit", "over", "scope")

    def __init__(self, function: Callable[[], Awaitable[T]], on_late: Callable[[T], object] | None = None) -> None:
        self._function = function
        self._on_late = on_late
        self._given_up = False
        self._value: T
        self._error: BaseException | None  # as _value, set when the call is over
        self.over: bool = False
        self.misfit: bool = False
        self.scope: trio.CancelScope = trio.CancelScope()

    @property
    def name(self) -> str:
        """The name of the task."""
        inner = self._function.func if isinstance(self._function, partial) else self._function
        return str(getattr(inner, "__qualname__", inner))

    def unwrap(self) -> T:
        """Return the result of a call that is over, or raise its error."""
        __tracebackhide__ = True  # IPython omits such frames
        if self._error is not None:
            raise self._error
        return self._value

    @abstractmethod
    def _wake(self) -> None:
        """Wake the caller, as the call is over."""

    @abstractmethod
    def _settle(self) -> None:
        """Wake a caller that has given up, as the call is over and ``on_late`` was called."""

    # ── in the trio thread ───────────────────────────────────────────────────────────────────

    async def run(self, calls: set[Call[Any]]) -> None:
        """Run the function as a task.

        All exceptions go to the caller, SystemExit and KeyboardInterrupt too.

        Args:
            calls: the running calls; contains this one while it runs.
        """
        calls.add(self)
        try:
            with self.scope:
                self._value = await self._begun()
                self._end()
        except BaseException as exc:
            if is_cancellation(exc):
                raise
            self._end(exc)  # an exception that leaves the task would end the loop
        finally:
            calls.discard(self)
            if not self.over:  # cancelled
                self._end(ClosedError(ENDED))

    def _begun(self) -> Awaitable[T]:
        try:
            return self._function()
        except TypeError as exc:  # the arguments do not match the signature; the function was not executed
            # The message names the class in trio, which the caller does not use.
            exc.args = (str(exc).replace(f"{self.name}()", f"{self.name.rpartition('.')[2]}()"),)
            self.misfit = True
            raise

    def give_up(self) -> None:
        """Cancel the call, as its result is not awaited any more."""
        self._given_up = True
        self.scope.cancel()
        if self.over:
            self._report_late()

    @property
    def abandoned(self) -> bool:
        """Whether the caller cannot wait any more, without having given up the call."""
        return False

    def give_up_if_abandoned(self) -> None:
        """Cancel the call if nothing can receive its outcome; in the trio thread."""
        if self.abandoned and not self._given_up:
            self.give_up()

    def fail(self, error: BaseException) -> None:
        """Set an error as the outcome, unless there is an outcome already.

        Of a call that was never started, this may be called in the caller's thread.
        """
        if not self.over:
            self._end(error)

    def _end(self, error: BaseException | None = None) -> None:
        self._error = error
        self.over = True
        self._wake()
        if self._given_up:
            self._report_late()

    def _report_late(self) -> None:
        if self._error is None and self._on_late is not None:
            on_late, self._on_late = self._on_late, None
            on_late(self._value)
        self._settle()


class BlockingCall(Call[T]):
    """A call that one thread waits for.

    The waiting thread may get a KeyboardInterrupt at any point. So the threads share no lock that Python code takes, as
    futures do: if an interrupt left it locked, the trio thread would block for ever. ``SimpleQueue`` is written in C.
    """

    __slots__ = ("_over", "_settled")

    def __init__(self, function: Callable[[], Awaitable[T]], on_late: Callable[[T], object] | None = None) -> None:
        super().__init__(function, on_late)
        self._over: SimpleQueue[None] = SimpleQueue()
        self._settled: SimpleQueue[None] = SimpleQueue()

    def result(self) -> T:
        """Wait for the outcome; return the result or raise the error."""
        __tracebackhide__ = True
        while not self.over:
            with suppress(Empty):
                self._over.get(timeout=_LOOK)
        return self.unwrap()

    def settle(self, timeout: float) -> None:
        """Wait until a call that was given up is over, and ``on_late`` was called."""
        with suppress(Empty):
            self._settled.get(timeout=timeout)

    def _wake(self) -> None:
        self._over.put(None)

    def _settle(self) -> None:
        self._settled.put(None)


def is_cancellation(error: BaseException) -> bool:
    """Return whether an error is a trio.Cancelled, or a group of only these."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(trio.Cancelled)[1] is None
    return isinstance(error, trio.Cancelled)
