"""The trio thread: a background event loop that runs the calls of other threads.

Each call is a task of that loop, with the contextvars of its caller, so that the output of a notebook's handler appears
below the cell that registered it. If the waiting thread gets a KeyboardInterrupt (Ctrl-C, the stop button of a
notebook), or a waiting asyncio task is cancelled, this task is cancelled; everything else in the loop, such as
informers, keeps running.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

import trio

from dynkube._guard import repr_of
from dynkube._logs import get_logger
from dynkube._portal.call import ENDED, BlockingCall, Call, is_cancellation
from dynkube._portal.tracebacks import shorten
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers._user_code import in_function_of_a_read

P = ParamSpec("P")
T = TypeVar("T")

_log = get_logger("dynkube.thread")

_AT_EXIT: Final = 1.5  # seconds; Jupyter sends SIGTERM 2.5 s after it requested the kernel's shutdown
_LOOK: Final = 1.0  # seconds between checks whether running calls are still awaited
_CANCELLING: Final = 0.5  # seconds for an interrupted call to clean up
# Libraries that replace modules of the standard library by ones for greenlets: the module and function that know it.
_PATCHERS: Final = (
    ("gevent", "gevent.monkey", "is_module_patched", ("threading", "socket", "select")),
    ("eventlet", "eventlet.patcher", "is_monkey_patched", ("thread", "socket", "select")),
)


class TrioThread:
    """A thread that runs trio until the process ends, or :meth:`close` is called.

    Raises:
        InvalidInput: gevent or eventlet has replaced threads, sockets or polling.
    """

    def __init__(self) -> None:
        _check_unpatched()
        self.pid: int = os.getpid()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None  # while the loop accepts calls
        self._began: SimpleQueue[None] = SimpleQueue()
        self._unwanted = False
        self._failure: BaseException | None = None  # the exception that ended the loop, if any
        self._calls: set[Call[Any]] = set()  # those without an outcome, mostly
        self._begun: trio.Event  # set when a call was started; in the trio thread
        # A daemon thread: the interpreter joins all other threads before it runs atexit callbacks.
        self._thread = threading.Thread(target=self._run, name="dynkube-trio", daemon=True)
        try:
            self._thread.start()
            self._began.get()
        except BaseException:  # interrupted: the object is never returned
            self._unwanted = True
            self.cancel(self._scope)
            raise

    # ── blocking calls ───────────────────────────────────────────────────────────────────────

    def call(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function in the loop, and wait for its outcome.

        A KeyboardInterrupt cancels it; if it has completed by then, its result is lost.

        Raises:
            InvalidInput: called in the trio thread or in another trio run, which it would block, or in a filter or
                index function.
            ClosedError: the loop has ended, or was started before this process was forked.
        """
        __tracebackhide__ = True  # IPython omits such frames
        return self.wait(BlockingCall(partial(function, *args, **kwargs)))

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a plain function in the trio thread, and wait for its outcome.

        Raises as :meth:`call` does.
        """
        __tracebackhide__ = True

        async def plain() -> T:
            return function(*args, **kwargs)

        return self.call(plain)

    def wait(self, call: BlockingCall[T]) -> T:
        """Start a call and wait for its outcome; raises as :meth:`call` does."""
        __tracebackhide__ = True
        self._check_may_block()
        try:
            self.submit(call)
            return call.result()
        except BaseException as exc:  # noqa: BLE001  # raised again
            if not (call.over and isinstance(exc, Exception)):  # otherwise the call itself raised it
                self._give_up(call)
            shorten(exc, wholly=call.misfit)
            error = exc
        return _raise(error)

    # ── called from other threads, without blocking ──────────────────────────────────────────

    def submit(self, call: Call[Any]) -> None:
        """Start a call. If the loop has ended, the call fails with a ClosedError."""
        if self.pid != os.getpid():
            return call.fail(
                ClosedError("this was opened before the process was forked: connect again in the new process")
            )
        self._calls.add(call)  # so that it fails if the loop ends before it was started
        try:
            if self._nursery is None or self._token is None:
                call.fail(self._ended())
            else:
                self._token.run_sync_soon(copy_context().run, self._begin, call)
        except trio.RunFinishedError:
            call.fail(self._ended())
        finally:
            if call.over:
                self._calls.discard(call)
        return None

    def hold(self, function: Callable[[], Coroutine[object, object, None]], scope: trio.CancelScope) -> None:
        """Start a background task, which ends with ``scope`` or with the loop.

        It must not raise.
        """
        context = copy_context()
        self.post(lambda: context.run(self.spawn, function, scope))

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

    @property
    def ended(self) -> bool:
        """Whether the loop has ended, and all calls have an outcome or are about to get one."""
        return self._nursery is None

    def close(self, timeout: float = _AT_EXIT) -> None:
        """Cancel everything, and wait at most ``timeout`` seconds. Idempotent."""
        if not self.alive or threading.current_thread() is self._thread:
            return
        self.cancel(self._scope)
        self._thread.join(timeout)
        if self._thread.is_alive():
            _log.warning("the trio thread did not end within %g s: one of its tasks does not yield", timeout)

    def check_usable(self) -> None:
        """Raise InvalidInput in a filter or index function, and in the trio thread."""
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

    def _check_may_block(self) -> None:
        self.check_usable()
        if trio.lowlevel.in_trio_run():
            raise InvalidInput(
                "a blocking call would block the trio run that calls it: use dynkube.connect() there, or make "
                "the call in a thread, with trio.to_thread.run_sync"
            )

    def _ended(self) -> ClosedError:
        error = ClosedError(ENDED if self._failure is None else f"{ENDED}: {repr_of(self._failure)}")
        error.__cause__ = self._failure
        return error

    def _give_up(self, call: BlockingCall[Any]) -> None:
        """Cancel a call, and wait up to 0.5 s for its end.

        The next call may use the same stream, which two calls must not use at the same time.
        """
        self.post(call.give_up)
        call.settle(_CANCELLING)

    # ── in the trio thread ───────────────────────────────────────────────────────────────────

    def spawn(self, function: Callable[[], Awaitable[None]], scope: trio.CancelScope) -> None:
        """Start a background task; see :meth:`hold`."""

        async def held() -> None:
            try:
                with scope:
                    await function()
            except BaseException as exc:
                if is_cancellation(exc):
                    raise
                # An exception that leaves the task would end the loop.
                _log.critical("%r has failed", function, exc_info=exc)

        if self._nursery is not None:
            with suppress(RuntimeError):  # the nursery is closed: the loop is about to end
                self._nursery.start_soon(held)

    def _begin(self, call: Call[Any]) -> None:
        assert self._nursery is not None
        try:
            self._nursery.start_soon(call.run, self._calls, name=call.name)
            self._begun.set()
        except RuntimeError:  # the nursery is closed: the loop is about to end
            call.fail(self._ended())

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as exc:  # noqa: BLE001  # logged here; a thread's exception is not raised anywhere
            _log.critical("the trio thread has failed, and its clients and streams are closed", exc_info=exc)
            self._failure = exc
        finally:
            self._nursery = None  # first: calls that are added later look at it
            for call in tuple(self._calls):
                call.fail(self._ended())
            self._began.put(None)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            async with trio.open_nursery() as nursery:
                self._begun = trio.Event()
                self._nursery = nursery
                self._began.put(None)
                if not self._unwanted:
                    await self._watch_calls()

    async def _watch_calls(self) -> None:
        """Cancel calls whose asyncio loop was closed, of which asyncio notifies nobody. Idle without calls."""
        while True:
            if not self._calls:
                self._begun = trio.Event()
                await self._begun.wait()
            await trio.sleep(_LOOK)
            for call in tuple(self._calls):
                call.give_up_if_abandoned()


def _raise(error: BaseException) -> NoReturn:
    raise error  # IPython always shows the last frame, even a hidden one: make it this short one


def _check_unpatched() -> None:
    """Raise InvalidInput if the event loop would run on greenlets: it would fail, or block all of them."""
    for library, patcher, check, modules in _PATCHERS:
        if (module := sys.modules.get(patcher)) is None:
            continue
        patched = [name for name in modules if getattr(module, check)(name)]
        if patched:
            raise InvalidInput(
                f"{library} has patched {', '.join(patched)}, with which trio, the event loop of dynkube, cannot run: "
                "use dynkube in a process that is not patched"
            )
