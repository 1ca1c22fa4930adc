"""A call from a task of an asyncio loop: an async function in the trio thread, and its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

import trio

from dynkube._portal.call import Call
from dynkube._portal.thread import TrioThread
from dynkube._portal.tracebacks import shorten
from dynkube.errors import InvalidInput

P = ParamSpec("P")
T = TypeVar("T")


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running asyncio loop.

    Raises:
        InvalidInput: there is none, or the caller is a trio task.
    """
    if trio.lowlevel.in_trio_task():
        raise InvalidInput("dynkube.aio is for asyncio, and this is a trio task: use dynkube.connect() in trio")
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise InvalidInput(
            "no asyncio event loop is running: run your program with asyncio.run(main()), or use "
            "dynkube.sync.connect(), which works without an event loop"
        ) from None


class AsyncioCall(Call[T]):
    """A call that one asyncio task waits for.

    If the task is cancelled, so is the call, and the task waits for its end. What is set by callbacks of the loop is
    used only in the loop's thread.
    """

    __slots__ = ("_is_over", "_is_settled", "_loop", "_waiter")

    def __init__(self, function: Callable[[], Awaitable[T]], on_late: Callable[[T], object] | None = None) -> None:
        super().__init__(function, on_late)
        self._loop = running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._is_over = False
        self._is_settled = False

    @property
    def abandoned(self) -> bool:
        """Whether the loop was closed while its task waited.

        Then the task is never resumed, and not destroyed either while anything refers to it.
        """
        return self._loop.is_closed()

    async def result(self, thread: TrioThread) -> T:
        """Start the call in a thread, and wait for its outcome."""
        __tracebackhide__ = True  # IPython omits such frames
        thread.submit(self)
        try:
            while not self._is_over:
                await self._changed()
        except GeneratorExit:  # the task is destroyed with its loop
            thread.post(self.give_up)
            raise
        except asyncio.CancelledError:
            thread.post(self.give_up)
            while not (self._is_settled or (self._is_over and thread.ended)):
                with suppress(asyncio.CancelledError):  # the first one is raised, when the call has ended
                    await self._changed()
            raise
        return self.unwrap()

    async def _changed(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        self._post(self._set_over)

    def _settle(self) -> None:
        self._post(self._set_settled)

    def _post(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the asyncio loop is closed: nothing waits
            self._loop.call_soon_threadsafe(function)

    def _set_over(self) -> None:
        self._is_over = True
        self._notify()

    def _set_settled(self) -> None:
        self._is_settled = True
        self._notify()

    def _notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def wait(thread: TrioThread, call: AsyncioCall[T]) -> T:
    """Start a call and wait for its outcome; raises as :func:`in_trio` does."""
    __tracebackhide__ = True
    try:
        return await call.result(thread)
    except BaseException as exc:
        shorten(exc, wholly=call.misfit)
        raise


async def in_trio(
    thread: TrioThread, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run an async function in the trio thread, and wait for its outcome.

    Cancelling the asyncio task cancels it, and waits for its end.

    Raises:
        InvalidInput: no asyncio loop is running.
        ClosedError: the trio loop has ended, or was started before this process was forked.
    """
    __tracebackhide__ = True
    return await wait(thread, AsyncioCall(partial(function, *args, **kwargs)))
