"""The lifespan of a run: what is set up before its first call, and torn down after its last one.

A context manager of the user is held by a task of its own, so that cancel scopes and nurseries in it begin and end in
the same task and in the right order, although its end is bounded by a scope of ours.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Final, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type, brief

Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any] | AbstractContextManager[Any]]
"""A function of the client that returns an async context manager, or a plain one, which is entered in a thread."""

EXIT: Final = 5.0
"""Seconds for the end of a lifespan: lease_duration - renew_deadline by default, so that it ends before others lead."""

_log: Final = get_logger("dynkube.controllers")


def check_lifespan(lifespan: object) -> None:
    """Raise InvalidInput unless it can be a lifespan; what it returns is checked when it is called."""
    if lifespan is None:
        return
    if not callable(lifespan):
        raise InvalidInput(f"lifespan is {a_type(lifespan)}: pass a function of the client, or None")
    if inspect.isasyncgenfunction(lifespan) or inspect.isgeneratorfunction(lifespan):
        raise InvalidInput(
            f"lifespan {brief(lifespan)} is a generator function: decorate it with contextlib.asynccontextmanager, or "
            "with contextlib.contextmanager if it is plain"
        )


@asynccontextmanager
async def held(lifespan: Lifespan | None, client: object, *, limit: float) -> AsyncIterator[object]:
    """Hold a lifespan during the block, which gets its value; ``None`` without one.

    Cancellation reaches what is being entered; what was entered is exited in any case, for at most ``limit`` seconds.

    Raises:
        InvalidInput: the function does not return a context manager.
        BaseException: entering or exiting it raised, or a task that it has started, which cancels the block.
    """
    if lifespan is None:
        yield None
        return
    scope, leave = trio.CancelScope(), trio.Event()
    async with OwnedNursery() as nursery:
        manager = manager_of(lifespan, client)
        if not isinstance(manager, AbstractAsyncContextManager):
            manager = _InThreads(manager)
        value = await nursery.start(partial(_hold, manager, scope, leave))
        try:
            yield value
        finally:
            scope.deadline = trio.current_time() + limit
            leave.set()
    if scope.cancelled_caught:
        _log.warning("the lifespan has not ended within %g s, and was cancelled", limit)


async def _hold(
    manager: AbstractAsyncContextManager[object],
    scope: trio.CancelScope,
    leave: trio.Event,
    *,
    task_status: trio.TaskStatus[object],
) -> None:
    with scope:
        async with manager as value:
            scope.shield = True
            task_status.started(value)
            await leave.wait()


def manager_of(
    lifespan: Lifespan, client: object
) -> AbstractAsyncContextManager[object] | AbstractContextManager[object]:
    """Return the context manager of a lifespan; not entered.

    Raises:
        InvalidInput: the function returns something else.
    """
    manager: object = lifespan(client)
    if isinstance(manager, AbstractAsyncContextManager | AbstractContextManager):
        return manager
    if inspect.iscoroutine(manager):
        manager.close()  # otherwise Python warns that it was never awaited
    raise InvalidInput(
        f"lifespan {brief(lifespan)} returned {a_type(manager)}: return a context manager, as a function with the "
        "decorator contextlib.asynccontextmanager does"
    )


class _InThreads(AbstractAsyncContextManager[object]):
    """A plain context manager, entered and exited in threads. One that does not return in time is left."""

    def __init__(self, manager: AbstractContextManager[object]) -> None:
        self._manager = manager
        self._limiter = trio.CapacityLimiter(1)  # trio's default limiter is shared with the rest of the program

    async def __aenter__(self) -> object:
        enter = self._manager.__enter__
        return await trio.to_thread.run_sync(enter, abandon_on_cancel=True, limiter=self._limiter)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave = partial(self._manager.__exit__, None, None, None)
        await trio.to_thread.run_sync(leave, abandon_on_cancel=True, limiter=self._limiter)
