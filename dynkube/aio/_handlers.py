"""Handlers of informers in an asyncio loop: called by the trio thread, one at a time, in order.

In the trio thread a handler is an async function, which waits for the call in the asyncio loop: so the informer's
coalescing, statistics and error reports are those of all handlers. In the loop one task for each handler makes the
calls; a loop that ends cancels it as it does all its tasks.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import ParamSpec

from dynkube._guard import attempt, repr_of
from dynkube._logs import get_logger
from dynkube.aio._loop_calls import Job, LoopCalls, silence
from dynkube.informers import OnAdd, OnDelete, OnError, OnUpdate
from dynkube.meta import InformerEvent

P = ParamSpec("P")

_log = get_logger("dynkube.informers")


class HandlerLoop(LoopCalls):
    """Calls the functions of one handler in the asyncio loop that is running when it is created.

    Attributes:
        name: the name of the handler.
        remove: removes the handler; to be called in the trio thread.
        ended: whether no more functions are called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.name = "handler"
        self.remove: Callable[[], object] = lambda: None
        self.ended: bool = False
        self._task: asyncio.Task[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._next: Job | None = None
        self._current: Job | None = None
        self._retired = False

    # ── in the trio thread ───────────────────────────────────────────────────────────────────

    async def call(self, function: Callable[[], object]) -> None:
        """Call a function in the asyncio loop, await what it returns, and raise what it raises.

        If this is cancelled, so is the function.

        Raises:
            RuntimeError: the asyncio loop has ended; the handler was removed.
        """
        try:
            was_called = await self.carry_out(Job(function))
        except Exception:
            if self.ended:
                self.remove()
            raise
        if not was_called:
            self.ended = True
            self.remove()
            raise self._lost()

    def _lost(self) -> RuntimeError:
        return RuntimeError(
            f"the asyncio event loop of handler {self.name} has ended, or cancelled its task: the handler was removed"
        )

    # ── in the asyncio loop ──────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start the task that calls the functions, with the contextvars of the caller."""
        self._task = self._loop.create_task(self._serve(), name=f"dynkube handler {self.name}")
        silence(self._task)

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

    def _accept(self, job: Job) -> None:
        if self.ended:
            job.end(self._lost())
        else:
            self._next = job
            self._wake()

    def _abandon(self, job: Job) -> None:
        self._retired = True
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
                self._next.end(self._lost())

    def _ending(self) -> None:
        self.ended = True


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
