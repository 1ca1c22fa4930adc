"""Reconciles in an asyncio loop: each is a task there, awaited by a worker of the controller in the trio thread.

So the queue, retries, deadlines, finalizers and the order at the end are those of :func:`dynkube.controllers.run`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from typing import cast

import trio

from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube.aio._client import Client
from dynkube.aio._context import Context
from dynkube.aio._loop_calls import LOOK, Job, LoopCalls, silence
from dynkube.controllers import Context as TrioContext
from dynkube.controllers import Controller, ControllerStatus, Lifespan, ObjectKey, Reconcile, Result, Source
from dynkube.controllers._calls import is_async
from dynkube.controllers._lifespan import manager_of

_log = get_logger("dynkube.controllers")


class ReconcileLoop(LoopCalls):
    """Calls the async functions of controllers in the asyncio loop that is running when it is created.

    Args:
        clients: the clients of the contexts, by the names of their clusters.
    """

    def __init__(self, clients: Mapping[str, Client]) -> None:
        super().__init__()
        self._clients = clients
        self._tasks: dict[Job, asyncio.Task[None]] = {}

    def controller(self, given: Controller) -> Controller:
        """Return a controller to be run in the trio thread in place of a given one.

        What is no controller is returned unchanged, to be rejected as it is in trio.
        """
        checked: object = given
        return _InAsyncio(given, self) if isinstance(checked, Controller) else given

    def function(self, function: Reconcile) -> Reconcile:
        """Return a function for the trio thread that has an async function called in the asyncio loop.

        Plain functions are called in threads of their own, as in trio.
        """
        if not is_async(function):
            return function
        asynchronous = cast("Callable[[Context, ObjectKey], Awaitable[Result]]", function)

        async def reconcile(ctx: TrioContext, key: ObjectKey) -> Result:
            call = partial(asynchronous, Context(ctx, self._clients), key)
            job = Job(call, on_abandon=partial(ctx._end, "was cancelled"))
            if not await self.carry_out(job):
                raise self._lost()
            return cast("Result", job.value)  # checked by the controller

        return reconcile

    async def iterate(
        self, source: Source, take: Callable[[object], None], pause: Callable[[], Awaitable[object]]
    ) -> None:
        """Open the stream of a source in the asyncio loop, and take its keys until it ends; for the trio thread."""
        if not await self.carry_out(Job(partial(source._iterate, take, pause))):
            raise self._lost()

    def lifespan(self, given: Lifespan | None, client: Client | Mapping[str, Client]) -> Lifespan | None:
        """Return a lifespan for the trio thread that enters and exits a given one in one task of the asyncio loop."""
        return None if given is None else lambda _: self._lifespan(given, client)

    @asynccontextmanager
    async def _lifespan(self, given: Lifespan, client: Client | Mapping[str, Client]) -> AsyncIterator[object]:
        entered, ended, leave = trio.Event(), trio.Event(), asyncio.Event()
        token, values = trio.lowlevel.current_trio_token(), []

        async def hold() -> None:  # in the asyncio loop
            manager = manager_of(given, client)
            async with manager if isinstance(manager, AbstractAsyncContextManager) else _in_threads(manager) as value:
                values.append(value)
                token.run_sync_soon(entered.set)
                await leave.wait()

        async def await_end() -> None:
            try:
                if not await self.carry_out(Job(hold)):
                    raise self._lost()
            finally:
                ended.set()

        async with OwnedNursery() as nursery:
            nursery.start_soon(await_end)
            await entered.wait()
            yield values[0]
            self.post(leave.set)
            await ended.wait()

    async def end_with_loop(self, end: Callable[[], object]) -> None:
        """Wait until the asyncio loop was closed, and call ``end``; in the trio thread."""
        while not self.loop_is_closed:  # noqa: ASYNC110  # nothing tells when it is
            await trio.sleep(LOOK)
        _log.error("controllers are stopped, as the asyncio event loop of their functions was closed")
        end()

    def _lost(self) -> RuntimeError:
        return RuntimeError("the asyncio event loop of the reconcile has ended, or cancelled its task")

    # ── in the asyncio loop ──────────────────────────────────────────────────────────────────

    def _accept(self, job: Job) -> None:
        task = job.context.run(self._loop.create_task, self._perform(job), name="dynkube reconcile")
        silence(task)
        self._tasks[job] = task
        task.add_done_callback(partial(self._ended, job))

    def _ended(self, job: Job, task: asyncio.Task[None]) -> None:
        del self._tasks[job]
        if not job.has_ended:  # cancelled before its first step
            job.end(None if job.unwanted else self._lost())

    def _abandon(self, job: Job) -> None:
        if job in self._tasks:
            self._tasks[job].cancel()


@asynccontextmanager
async def _in_threads(manager: AbstractContextManager[object]) -> AsyncIterator[object]:
    value = await asyncio.to_thread(manager.__enter__)
    try:
        yield value
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


class _InAsyncio(Controller):
    """A controller whose async functions are called in an asyncio loop; its status is also that of the original."""

    def __init__(self, original: Controller, loop: ReconcileLoop) -> None:
        vars(self).update(vars(original))
        self._original = original
        self._reconcile = loop.function(original._reconcile)
        if original._finalizer is not None:
            name, clean_up = original._finalizer
            self._finalizer = name, loop.function(clean_up)
        self._sources = tuple(_SourceInAsyncio(each, loop) for each in original._sources)

    @property
    def _status(self) -> Callable[[], ControllerStatus] | None:
        return self._original._status

    @_status.setter
    def _status(self, status: Callable[[], ControllerStatus] | None) -> None:
        self._original._status = status


class _SourceInAsyncio(Source):
    """A source whose stream is iterated in an asyncio loop; :meth:`add` of the original gives keys to it."""

    def __init__(self, original: Source, loop: ReconcileLoop) -> None:
        vars(self).update(vars(original))
        self._original = original
        self._loop = loop

    async def _iterate(self, take: Callable[[object], None], pause: Callable[[], Awaitable[object]]) -> None:
        await self._loop.iterate(self._original, take, partial(asyncio.sleep, 0))
