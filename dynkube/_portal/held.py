"""An async context manager held open by a task in the trio thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeAlias, TypeVar

import trio

from dynkube._logs import get_logger
from dynkube._portal.call import is_cancellation
from dynkube._portal.thread import TrioThread
from dynkube.errors import ClosedError

T = TypeVar("T")
R = TypeVar("R")

Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], object]
"""A function that starts a task in an owner; the owner cancels the task when it is closed. To be called in the trio
thread. Raises ClosedError if the owner is closed."""

_log = get_logger("dynkube.thread")


class Held(Generic[T]):
    """Holds ``async with manager`` open from :meth:`enter` to :meth:`leave`, which run in the trio thread.

    One task enters and exits the manager, as nurseries and cancel scopes inside require. Other tasks may use the value:
    they are cancelled before the manager is exited.

    Args:
        thread: the trio thread.
        manager: the context manager to enter.
        users: tasks to start once it is open; they must not raise. Start others with :meth:`start`.
        owner: the :meth:`start` of the owner: when the owner is closed, the manager is exited. ``None`` for no owner.
        logs: whether to log an exception with which the manager ends by itself.
    """

    def __init__(
        self,
        thread: TrioThread,
        manager: AbstractAsyncContextManager[T, bool | None],
        *users: Callable[[], Awaitable[None]],
        owner: Start | None = None,
        logs: bool = True,
    ) -> None:
        self._logs = logs
        self._first_users = users
        self._owner = owner
        self._thread = thread
        self._manager = manager
        self.scope: trio.CancelScope = trio.CancelScope()
        self.keeps: object = None
        """An object that is not collected while the manager is open."""
        self._value: T
        self._open = False
        self._begun = False
        self._is_detached = False
        self._turn = trio.Event()  # set when the manager was entered, or entering has failed
        self._leave = trio.Event()
        self._ended = trio.Event()
        self._error: BaseException | None = None
        self._users: trio.Nursery | None = None
        self._uses: set[trio.CancelScope] = set()
        self._unused = trio.Event()  # set when the last use has ended, while the manager is being exited

    async def enter(self) -> T:
        """Enter the manager, and wait until it is entered.

        If the wait is cancelled, the manager is exited again.

        Raises:
            Exception: the exception that entering raised.
            ClosedError: the owner is closed, or the manager was detached.
        """
        if self._is_detached:
            raise ClosedError("live() shows it: open another one")
        try:
            if self._owner is None:
                self._thread.spawn(self._run, self.scope)
            else:
                self._owner(self._run_owned)
            self._begun = True
            await self._turn.wait()
        except BaseException:
            self.scope.cancel()
            if self._begun:
                with trio.CancelScope(shield=True):
                    await self._ended.wait()
            raise
        if not self._open:
            await self._raise_error()
            raise ClosedError("it was closed while it was being opened")
        return self._value

    def detach(self) -> tuple[AbstractAsyncContextManager[T, bool | None], Start]:
        """Return the manager and the :meth:`start` of the owner: something else will hold it open.

        Raises:
            ClosedError: it was entered or detached before, or it has no owner.
        """
        if self._begun or self._is_detached or self._owner is None:
            raise ClosedError("live() needs logs that were not opened before: call it on the result of logs(...)")
        self._is_detached = True
        return self._manager, self._owner

    async def leave(self) -> None:
        """Exit the manager, and wait until it is exited.

        Idempotent; does nothing if entering failed. If it is cancelled, the manager is cancelled instead.

        Raises:
            Exception: the exception that the manager raised, such as the error of a handler with
                ``on_error="cancel"``. Raised by the first call only.
        """
        if not self._begun:
            return
        self._leave.set()
        try:
            await self._ended.wait()
        except trio.Cancelled:
            self.scope.cancel()  # not waited for: the caller may be a handler that the manager waits for
            raise
        await self._raise_error()

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """Start a task that uses the value, and must not raise.

        Must be called in the trio thread.

        Raises:
            ClosedError: the manager is not open.
        """
        if self._users is None:
            raise ClosedError("the client is closed")
        self._users.start_soon(function)

    async def use(self, function: Callable[[], Awaitable[R]]) -> R:
        """Run a function that uses the value, in the calling task.

        If the manager is exited meanwhile, the function is cancelled before that, and called again after it: then it
        raises what it raises for a closed object.
        """
        if self._users is None:
            return await function()
        with trio.CancelScope() as scope:
            self._uses.add(scope)
            try:
                return await function()
            finally:
                self._uses.discard(scope)
                if self._users is None and not self._uses:
                    self._unused.set()
        await self._ended.wait()
        return await function()

    async def wait_ended(self) -> None:
        """Wait until the manager was exited, by :meth:`leave`, by its owner, or by itself."""
        await self._ended.wait()

    async def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error
        await trio.lowlevel.checkpoint()

    @property
    def ended(self) -> bool:
        """Whether the manager was exited, by :meth:`leave` or by itself."""
        return self._ended.is_set() or not self._thread.alive

    async def _run_owned(self) -> None:
        with self.scope:
            await self._run()

    async def _run(self) -> None:
        try:
            async with self._manager as self._value, trio.open_nursery() as users:
                self._users = users
                for user in self._first_users:
                    users.start_soon(user)
                self._open = True
                self._turn.set()
                try:
                    await self._leave.wait()
                finally:
                    await self._end_uses(users)
        except BaseException as exc:
            if is_cancellation(exc):
                raise
            self._error = exc  # raised by enter() or leave()
            if self._logs and self._open and not self._leave.is_set():  # leave() may never be called
                _log.error("a client or stream has failed and was closed", exc_info=exc)
        finally:
            self.keeps = None
            self._ended.set()
            self._turn.set()

    async def _end_uses(self, users: trio.Nursery) -> None:
        self._users = None
        users.cancel_scope.cancel()
        if self._uses:
            for scope in self._uses:
                scope.cancel()
            with trio.CancelScope(shield=True):
                await self._unused.wait()
