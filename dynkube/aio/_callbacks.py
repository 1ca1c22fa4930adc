"""Functions that a call of the trio thread calls back, in the asyncio loop of the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from dynkube._logs import get_logger
from dynkube._portal.facade import Facade, like
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import AsyncioCall, in_trio, running_loop, wait
from dynkube.aio._delegation import for_asyncio

E = TypeVar("E")
S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Facade[Any])

_log = get_logger("dynkube.thread")


class Callback(Generic[E]):
    """Passes values on to a function in the asyncio loop; if it raises, the call is cancelled.

    To be called in the trio thread.

    Args:
        function: the function.
        thread: the trio thread.
    """

    def __init__(self, function: Callable[[E], object], thread: TrioThread) -> None:
        self._function = function
        self._thread = thread
        self._loop = running_loop()
        self._call: AsyncioCall[Any] | None = None
        self._failure: BaseException | None = None

    def __call__(self, value: E) -> None:
        """Call the function with a value, soon."""
        with suppress(RuntimeError):  # the asyncio loop is closed: nothing waits for the call
            self._loop.call_soon_threadsafe(self._pass_on, value)

    async def during(self, function: Callable[[], Awaitable[R]]) -> R:
        """Run a function in the trio thread that calls this.

        Raises:
            Exception: what either function has raised.
            CancelledError: the task was cancelled; if the other function has raised as well, that is logged.
        """
        call = AsyncioCall(function)
        self._call = call
        try:
            result = await wait(self._thread, call)
        except asyncio.CancelledError:
            if self._failure is not None:
                _log.error("a callback has raised, and the task of its call was cancelled", exc_info=self._failure)
            raise
        except BaseException:
            if self._failure is None:
                raise
        else:
            if self._failure is None:
                return result
        raise self._failure

    def _pass_on(self, value: E) -> None:
        if self._failure is None:
            try:
                self._function(value)
            except BaseException as exc:  # noqa: BLE001  # raised by during(), in the task that made the call
                self._failure = exc
                if self._call is not None:
                    self._thread.cancel(self._call.scope)


def calling_back(
    function: Callable[Concatenate[S, P], Coroutine[object, object, R]], argument: str
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], Coroutine[Any, Any, R]]]:
    """Make a method as ``awaiting`` does, one of whose arguments is a function to be called in the asyncio loop.

    Args:
        function: the method for trio.
        argument: the name of that keyword argument, such as ``"on_entry"``.
    """

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], Coroutine[Any, Any, R]]:
        async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> R:
            __tracebackhide__ = True
            given = kwargs.get(argument)
            if not callable(given):
                return await in_trio(self._thread, function, self._inner, *args, **kwargs)
            callback: Callback[object] = Callback(given, self._thread)
            kwargs[argument] = callback
            return await callback.during(partial(function, self._inner, *args, **kwargs))

        return like(function, stub, method, for_asyncio)

    return made
