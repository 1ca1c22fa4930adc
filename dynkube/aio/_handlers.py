"""Handlers of informers in an asyncio loop: called by the trio thread, one at a time, in order.

In the trio thread a handler is an async function, which waits for the call in the asyncio loop: so the informer's
coalescing, statistics and error reports are those of all handlers. In the loop one task for each handler makes the
calls; a loop that ends cancels it as it does all its tasks.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from typing import Final, ParamSpec

import trio

from dynkube._guard import attempt, repr_of, text_of
from dynkube._logs import get_logger
from dynkube._portal.tracebacks import without_libraries
from dynkube.aio._call import running_loop
from dynkube.informers import OnAdd, OnDelete, OnError, OnUpdate
from dynkube.meta import InformerEvent

P = ParamSpec("P")

_log = get_logger("dynkube.informers")

# Seconds between checks whether the asyncio loop still exists: nothing tells when one is closed or stopped.
_LOOK: Final = 1.0
_LOOK_AT_END: Final = 0.1


class _Job:
    """One call of a handler's function.

    Attributes:
        function: what to call in the asyncio loop.
        done: set in the trio thread when the call has ended.
        error: what it raised; set before ``done``.
        unwanted: whether its handler was closed meanwhile.
    """

    __slots__ = ("_token", "done", "error", "function", "unwanted")

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.done = trio.Event()
        self.error: BaseException | None = None
        self.unwanted = False
        self._token = trio.lowlevel.current_trio_token()

    def end(self, error: BaseException | None = None) -> None:
        """Tell the trio thread that the call has ended; in the asyncio loop's thread."""
        self.error = error
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.done.set)


class HandlerLoop:
    """Calls the functions of one handler in the asyncio loop that is running when it is created.

    Attributes:
        name: the name of the handler.
        remove: removes the handler; to be called in the trio thread.
        ended: whether no more functions are called.
    """

    def __init__(self) -> None:
        self.name = "handler"
        self.remove: Callable[[], object] = lambda: None
        self.ended: bool = False
        self._loop = running_loop()
        self._context = copy_context()
        self._task: asyncio.Task[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._next: _Job | None = None
        self._current: _Job | None = None
        self._retired = False

    # ── in the trio thread ───────────────────────────────────────────────────────────────────

    async def call(self, function: Callable[[], object]) -> None:
        """Call a function in the asyncio loop, await what it returns, and raise what it raises.

        If this is cancelled, so is the function.

        Raises:
            RuntimeError: the asyncio loop has ended; the handler was removed.
        """
        job = _Job(function)
        if not self.post(self._accept, job):
            raise self._gone()
        try:
            await self._until_done(job, _LOOK, self._loop.is_closed)
        except trio.Cancelled:
            if self.post(self._abandon, job):
                with trio.CancelScope(shield=True):
                    await self._until_done(job, _LOOK_AT_END, lambda: not self._loop.is_running())
            raise
        if not job.done.is_set():
            raise self._gone()
        if job.error is not None:
            job.error.__traceback__ = without_libraries(job.error.__traceback__)
            if self.ended:
                self.remove()
            raise job.error

    async def _until_done(self, job: _Job, look: float, lost: Callable[[], bool]) -> None:
        while not job.done.is_set() and not lost():
            with trio.move_on_after(look):
                await job.done.wait()

    def post(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Call a function in the asyncio loop soon; return whether the loop still exists. In any thread."""
        try:
            self._loop.call_soon_threadsafe(partial(function, *args, **kwargs))
        except RuntimeError:
            return False
        return True

    def post_in_context(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Call a function as :meth:`post` does, with the contextvars of the registration."""
        return self.post(partial(self._context.copy().run, function, *args, **kwargs))

    def _gone(self) -> RuntimeError:
        self.ended = True
        self.remove()
        return self._ended()

    def _ended(self) -> RuntimeError:
        return RuntimeError(
            f"the asyncio event loop of handler {self.name} has ended, or cancelled its task: the handler was removed"
        )

    # ── in the asyncio loop ──────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start the task that calls the functions, with the contextvars of the caller."""
        name = f"dynkube handler {self.name}"
        self._task = self._loop.create_task(self._serve(), name=name)
        self._task.add_done_callback(_retrieve)
        # A loop that is closed with this task says nothing useful about it: the registration has the error.
        self._task._log_destroy_pending = False  # type: ignore[attr-defined]

    def retire(self) -> None:
        """End the task when its current call has ended; in any thread, without blocking."""
        self.post(self._retire)

    async def wait_ended(self) -> None:
        """Wait until the task has ended, if it is one of the running loop, and no call is running.

        A handler that was removed during a call finishes it, or is cancelled when the client is closed.
        """
        if self._task is not None and self._current is None and self._loop is asyncio.get_running_loop():
            await asyncio.wait([self._task])

    def _retire(self) -> None:
        self._retired = True
        self._wake()

    def _accept(self, job: _Job) -> None:
        if self.ended:
            job.end(self._ended())
        else:
            self._next = job
            self._wake()

    def _abandon(self, job: _Job) -> None:
        job.unwanted = self._retired = True
        if job is self._current and self._task is not None:
            self._task.cancel()
        elif job is self._next:
            self._next = None
            job.end()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _serve(self) -> None:
        try:
            while self._next is not None or not self._retired:
                if self._next is None:
                    self._waiter = self._loop.create_future()
                    await self._waiter
                else:
                    self._current, self._next = self._next, None
                    await self._perform(self._current)
                    self._current = None
        finally:
            self.ended = True
            if self._next is not None:
                self._next.end(self._ended())

    async def _perform(self, job: _Job) -> None:
        try:
            pending = job.function()
            if inspect.isawaitable(pending):
                await pending
        except asyncio.CancelledError as exc:
            task = self._task
            if job.unwanted or (task is not None and task.cancelling()):
                self.ended = True
                job.end(None if job.unwanted else self._ended())
                raise
            job.end(_failure(exc, "was raised by the handler, whose task was not cancelled"))
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as exc:  # they end the loop, as from any other task
            self.ended = True
            job.end(_failure(exc, "was raised in an asyncio task, which ends its event loop: the handler was removed"))
            raise
        except BaseException as exc:  # noqa: BLE001  # reported by the informer, as of every handler
            job.end(exc)
        else:
            job.end()


class Handler:
    """The functions of one registration, as the informer in the trio thread calls them."""

    def __init__(
        self,
        loop: HandlerLoop,
        *,
        on_add: OnAdd | None,
        on_update: OnUpdate | None,
        on_delete: OnDelete | None,
        on_error: OnError,
    ) -> None:
        self._loop = loop
        self.on_add: OnAdd | None = self._in_loop(on_add)
        self.on_update: OnUpdate | None = self._in_loop(on_update)
        self.on_delete: OnDelete | None = self._in_loop(on_delete)
        self.on_error: OnError = self._error_in_loop(on_error)

    def _in_loop(
        self, function: Callable[P, Awaitable[None] | None] | None
    ) -> Callable[P, Awaitable[None] | None] | None:
        if not callable(function):
            return function  # add_handler rejects what is not callable

        @wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> None:
            await self._loop.call(partial(function, *args, **kwargs))

        return call

    def _error_in_loop(self, on_error: OnError) -> OnError:
        if not callable(on_error) or inspect.iscoroutinefunction(on_error):
            return on_error  # add_handler rejects async functions

        def report(exc: Exception, event: InformerEvent) -> None:
            if not self._loop.post_in_context(self._call_on_error, on_error, exc, event):
                raise exc

        return report

    def _call_on_error(
        self, on_error: Callable[[Exception, InformerEvent], object], exc: Exception, event: InformerEvent
    ) -> None:
        text = "on_error of handler %s failed on %s"
        attempt(
            partial(on_error, exc, event),
            None,
            lambda error: _log.error(text, self._loop.name, repr_of(event), exc_info=error),
        )


def _failure(exc: BaseException, what: str) -> RuntimeError:
    failure = RuntimeError(f"{text_of(exc)} {what}")
    failure.__cause__ = exc
    return failure


def _retrieve(task: asyncio.Task[None]) -> None:
    """Retrieve the exception of a task: it was reported, or has ended the loop."""
    if not task.cancelled():
        task.exception()
