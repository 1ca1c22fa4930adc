"""The trio thread: a background event loop that runs the blocking calls.

Each call is a task of that loop. If the waiting thread gets a KeyboardInterrupt (Ctrl-C, the stop button of a
notebook), this task is cancelled; everything else in the loop, such as informers, keeps running. Built on anyio's
blocking portal, which propagates the caller's contextvars, so that the output of a notebook's handler appears below
the cell that registered it.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

import trio
from anyio.from_thread import BlockingPortal

from dynkube._guard import repr_of
from dynkube._logs import get_logger
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers._user_code import in_function_of_a_read
from dynkube.sync._call import ENDED, Call, is_cancellation
from dynkube.sync._errors import shorten

P = ParamSpec("P")
T = TypeVar("T")

_log = get_logger("dynkube.sync")

_AT_EXIT: Final = 1.5  # seconds; Jupyter sends SIGTERM 2.5 s after it requested the kernel's shutdown
_CANCELLING: Final = 0.5  # seconds for an interrupted call to clean up


class TrioThread:
    """A thread that runs trio until the process ends, or :meth:`close` is called."""

    def __init__(self) -> None:
        self.pid: int = os.getpid()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._portal: BlockingPortal | None = None  # set when the loop has started
        self._began: SimpleQueue[None] = SimpleQueue()
        self._unwanted = False
        self._failure: BaseException | None = None  # the exception that ended the loop, if any
        self._calls: set[Call[Any]] = set()  # running calls; accessed only in the trio thread
        # A daemon thread: the interpreter joins all other threads before it runs atexit callbacks.
        self._thread = threading.Thread(target=self._run, name="dynkube-trio", daemon=True)
        try:
            self._thread.start()
            self._began.get()
        except BaseException:  # interrupted: the object is never returned
            self._unwanted = True
            self.cancel(self._scope)
            raise

    # ── called from other threads ────────────────────────────────────────────────────────────

    def call(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function in the loop, and wait for its outcome.

        A KeyboardInterrupt cancels it; if it has completed by then, its result is lost.

        Raises:
            InvalidInput: called in the trio thread or in another trio run, which it would block, or in a filter or
                index function.
            ClosedError: the loop has ended, or was started before this process was forked.
        """
        __tracebackhide__ = True  # IPython omits such frames
        return self.wait(Call(partial(function, *args, **kwargs)))

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a plain function in the trio thread, and wait for its outcome.

        Raises as :meth:`call` does.
        """
        __tracebackhide__ = True

        async def plain() -> T:
            return function(*args, **kwargs)

        return self.call(plain)

    def wait(self, call: Call[T]) -> T:
        """Start a call and wait for its outcome; raises as :meth:`call` does."""
        __tracebackhide__ = True
        portal = self._open()
        try:
            _start(portal, call.run, self._calls, name=call.name)
            return call.result()
        except BaseException as exc:  # noqa: BLE001  # raised again
            if not (call.over and isinstance(exc, Exception)):  # otherwise the call itself raised it
                self._give_up(call)
            shorten(exc, wholly=call.misfit)
            error = exc
        return _raise(error)

    def hold(self, function: Callable[[], Coroutine[object, object, None]], scope: trio.CancelScope) -> None:
        """Start a background task, which ends with ``scope`` or with the loop.

        It must not raise.
        """

        async def held() -> None:
            try:
                with scope:
                    await function()
            except BaseException as exc:
                if is_cancellation(exc):
                    raise
                # An exception that leaves the task would end the loop.
                _log.critical("%r has failed", function, exc_info=exc)

        _start(self._open(), held)

    def cancel(self, scope: trio.CancelScope) -> None:
        """Cancel ``scope``, from any thread; does not block."""
        self.post(scope.cancel)

    def post(self, function: Callable[[], object]) -> None:
        """Run a plain function, which must not raise, in the loop soon.

        Does not block. No-op after the loop's end.
        """
        if self._token is not None and self.alive:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(function)

    @property
    def alive(self) -> bool:
        """Whether the thread accepts calls: it is running, and in this process (no fork)."""
        return self.pid == os.getpid() and self._thread.is_alive()

    def close(self, timeout: float = _AT_EXIT) -> None:
        """Cancel everything, and wait at most ``timeout`` seconds. Idempotent."""
        if not self.alive or threading.current_thread() is self._thread:
            return
        self.cancel(self._scope)
        self._thread.join(timeout)
        if self._thread.is_alive():
            _log.warning("the trio thread did not end within %g s: one of its tasks does not yield", timeout)

    def _open(self) -> BlockingPortal:
        if in_function_of_a_read():
            raise InvalidInput(
                "a blocking call in a filter or index function would run once per object, in every thread that "
                "reads: use only the object, or the cache of another informer"
            )
        if threading.current_thread() is self._thread:
            raise InvalidInput(
                "a blocking call in the trio thread would deadlock: transforms, columns of live tables and async "
                "handlers run there; call it from a synchronous handler, which runs in a thread of its own"
            )
        if trio.lowlevel.in_trio_run():
            raise InvalidInput(
                "a blocking call would block the trio run that calls it: use dynkube.connect() there, or make "
                "the call in a thread, with trio.to_thread.run_sync"
            )
        if self.pid != os.getpid():
            raise ClosedError("this was opened before the process was forked: connect again in the new process")
        if self._portal is None:
            raise self._ended()
        return self._portal

    def _ended(self) -> ClosedError:
        error = ClosedError(ENDED if self._failure is None else f"{ENDED}: {repr_of(self._failure)}")
        error.__cause__ = self._failure
        return error

    def _give_up(self, call: Call[T]) -> None:
        """Cancel a call, and wait up to 0.5 s for its end.

        The next call may use the same stream, which two calls must not use at the same time.
        """
        self.post(call.give_up)
        call.settle(_CANCELLING)

    # ── the thread ───────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as exc:  # noqa: BLE001  # logged here; a thread's exception is not raised anywhere
            _log.critical("the trio thread has failed, and its clients and streams are closed", exc_info=exc)
            self._failure = exc
        finally:
            self._portal = None
            for call in tuple(self._calls):
                call.fail(self._ended())
            self._began.put(None)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            async with BlockingPortal() as portal:
                self._portal = portal
                self._began.put(None)
                if not self._unwanted:
                    await trio.sleep_forever()


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


def _start(
    portal: BlockingPortal, task: Callable[..., Awaitable[None]], *args: object, name: str | None = None
) -> None:
    try:
        portal.start_task_soon(task, *args, name=name)
    except RuntimeError as exc:  # raised by the portal after its end
        raise ClosedError(ENDED) from exc


def _raise(error: BaseException) -> NoReturn:
    raise error  # IPython always shows the last frame, even a hidden one: make it this short one
