"""The trio thread: one event loop in the background of a process, in which blocking calls are carried out.

A call is a task of that loop. Whoever waits for it may be interrupted (Ctrl-C, the stop button of a notebook): then
this task is cancelled, and everything else in the loop, informers above all, goes on. Built on anyio's blocking portal,
which carries the caller's context along, so that what a notebook's handler prints appears below the cell that
registered it.
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
from dynkube.informers import in_function_of_a_read
from dynkube.sync._call import ENDED, Call, is_cancellation
from dynkube.sync._errors import shorten

P = ParamSpec("P")
T = TypeVar("T")

_log = get_logger("dynkube.sync")

_AT_EXIT: Final = 1.5  # seconds; Jupyter sends SIGTERM 2.5 s after it asked a kernel to end
_CANCELLING: Final = 0.5  # seconds for a call that was interrupted to clean up


class TrioThread:
    """A thread that runs trio until the process ends, or :meth:`close` is called."""

    def __init__(self) -> None:
        self.pid: int = os.getpid()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._portal: BlockingPortal | None = None  # from the beginning of the loop on
        self._began: SimpleQueue[None] = SimpleQueue()
        self._unwanted = False
        self._failure: BaseException | None = None  # what has ended the loop, if it was not closed
        self._calls: set[Call[Any]] = set()  # what somebody waits for; belongs to the loop
        # A daemon: the interpreter would wait for any other before it calls what atexit was told.
        self._thread = threading.Thread(target=self._run, name="dynkube-trio", daemon=True)
        try:
            self._thread.start()
            self._began.get()
        except BaseException:  # interrupted: nobody will have it
            self._unwanted = True
            self.cancel(self._scope)
            raise

    # ── for callers in other threads ─────────────────────────────────────────────────────────

    def call(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function in the loop, and wait for what it returns or raises.

        Interrupted, it is cancelled; should it be through by then, what it returned is lost.

        Raises:
            InvalidInput: called from the loop's own thread, which would wait for itself, or by a user's function
                that a read asks about each object.
            ClosedError: the loop has ended, or belongs to the process that this one was forked from.
        """
        __tracebackhide__ = True  # IPython leaves such frames out
        return self.wait(Call(partial(function, *args, **kwargs)))

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a plain function that belongs in the loop's thread."""
        __tracebackhide__ = True

        async def plain() -> T:
            return function(*args, **kwargs)

        return self.call(plain)

    def wait(self, call: Call[T]) -> T:
        """Start a call and wait for it; see :meth:`call`."""
        __tracebackhide__ = True
        portal = self._open()
        try:
            _start(portal, call.run, self._calls, name=call.name)
            return call.result()
        except BaseException as exc:  # noqa: BLE001  # raised again
            if not (call.over and isinstance(exc, Exception)):  # else it is what the call raised
                self._give_up(call)
            shorten(exc, wholly=call.misfit)
            error = exc
        return _raise(error)

    def hold(self, function: Callable[[], Coroutine[object, object, None]], scope: trio.CancelScope) -> None:
        """Start a task that nobody waits for; it ends with ``scope``, or with the loop. It must not raise."""

        async def held() -> None:
            try:
                with scope:
                    await function()
            except BaseException as exc:
                if is_cancellation(exc):
                    raise
                # Let out, it would end the loop, and everything in it.
                _log.critical("%r has failed", function, exc_info=exc)

        _start(self._open(), held)

    def cancel(self, scope: trio.CancelScope) -> None:
        """Cancel what runs in ``scope``, from any thread; does not wait."""
        self.post(scope.cancel)

    def post(self, function: Callable[[], object]) -> None:
        """Have a plain function run in the loop soon, which must not raise; does not wait. Nothing after its end."""
        if self._token is not None and self.alive:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(function)

    @property
    def alive(self) -> bool:
        """Whether it takes calls: not after its end, nor in a process forked from the one that started it."""
        return self.pid == os.getpid() and self._thread.is_alive()

    def close(self, timeout: float = _AT_EXIT) -> None:
        """Cancel everything in the loop, and wait for its end, at most ``timeout`` seconds. Safe to call twice."""
        if not self.alive or threading.current_thread() is self._thread:
            return
        self.cancel(self._scope)
        self._thread.join(timeout)
        if self._thread.is_alive():
            _log.warning("the trio thread did not end within %g s: something in it does not yield", timeout)

    def _open(self) -> BlockingPortal:
        if in_function_of_a_read():
            raise InvalidInput(
                "a blocking call in a filter or an index function would be made for each object, in whichever thread "
                "reads: let the function look at the object, or at another informer"
            )
        if threading.current_thread() is self._thread:
            raise InvalidInput(
                "a blocking call in the trio thread would wait for itself: transforms, columns of live tables and "
                "async handlers run there. Plain handlers have threads of their own: call it from one of those"
            )
        if trio.lowlevel.in_trio_run():
            raise InvalidInput(
                "a blocking call would stop the trio run that it is made in: use dynkube.connect() there, or make "
                "the call in a thread, by trio.to_thread.run_sync"
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
        """Cancel a call, and give it a moment to end: the next one may use the same stream."""
        self.post(call.give_up)
        call.settle(_CANCELLING)

    # ── the thread ───────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as exc:  # noqa: BLE001  # nobody else would hear of it
            _log.critical("the trio thread has failed, everything in it has ended", exc_info=exc)
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
    """The trio thread of a process: started when it is first needed, closed at exit, another one after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: TrioThread | None = None
        self._registered = False

    def thread(self) -> TrioThread:
        """The thread; started now, if there is none that lives."""
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
    except RuntimeError as exc:  # the portal's word for having ended
        raise ClosedError(ENDED) from exc


def _raise(error: BaseException) -> NoReturn:
    raise error  # IPython shows the last frame, hidden or not: let it be this one
