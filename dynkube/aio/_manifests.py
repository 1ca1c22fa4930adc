"""``apply_all`` and ``diff_all`` for asyncio: their callbacks are called in the asyncio loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from dynkube import manifests
from dynkube._bound import Bound
from dynkube._portal.facade import Facade, like
from dynkube._portal.held import Start
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import AsyncioCall, in_trio, running_loop, wait
from dynkube.aio._delegation import for_asyncio
from dynkube.aio._held import Held
from dynkube.aio._streams import Stream
from dynkube.manifests import Entry, Report

E = TypeVar("E")
S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Facade[Any])


class _Entries(Stream[Entry]):
    """The entries of a run."""

    def __init__(self, thread: TrioThread, run: manifests.ApplyRun) -> None:
        super().__init__(thread)
        self._run = run

    async def _take(self) -> list[Entry]:
        async for entry in self._run:
            return [entry]
        return []


class OnEntry(Generic[E]):
    """Passes entries on to a function in the asyncio loop; if it raises, the call is cancelled.

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

    def __call__(self, entry: E) -> None:
        """Call the function with an entry, soon."""
        with suppress(RuntimeError):  # the asyncio loop is closed: nothing waits for the call
            self._loop.call_soon_threadsafe(self._pass_on, entry)

    async def during(self, function: Callable[[], Awaitable[R]]) -> R:
        """Run a function in the trio thread that calls this with its entries.

        Raises:
            Exception: what either function has raised.
        """
        self._call = AsyncioCall(function)
        try:
            return await wait(self._thread, self._call)
        finally:
            if self._failure is not None:
                raise self._failure

    def _pass_on(self, entry: E) -> None:
        if self._failure is None:
            try:
                self._function(entry)
            except BaseException as exc:  # noqa: BLE001  # raised by during(), in the task that made the call
                self._failure = exc
                if self._call is not None:
                    self._thread.cancel(self._call.scope)


def with_entries(
    function: Callable[Concatenate[S, P], Coroutine[object, object, R]],
    argument: str = "on_entry",
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], Coroutine[Any, Any, R]]]:
    """Make a method as ``awaiting`` does, one of whose arguments is a function that is called in the asyncio loop."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], Coroutine[Any, Any, R]]:
        async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> R:
            __tracebackhide__ = True
            given = kwargs.get(argument)
            if not callable(given):
                return await in_trio(self._thread, function, self._inner, *args, **kwargs)
            on_entry: OnEntry[object] = OnEntry(given, self._thread)
            kwargs[argument] = on_entry
            return await on_entry.during(partial(function, self._inner, *args, **kwargs))

        return like(function, stub, method, for_asyncio)

    return made


class ApplyRun(Bound):
    """Applies all objects of a source, once; created by :meth:`Client.apply_all`.

    Await it for the report::

        report = await client.apply_all("manifests/")

    or follow its progress::

        async with client.apply_all("manifests/") as run:
            async for entry in run:
                print(entry)
        print(run.report.summary)

    :attr:`report` may be read at any time, also after cancellation: it has the results so far. Leaving the block before
    the run is complete cancels the rest.
    """

    def __init__(self, inner: manifests.ApplyRun, thread: TrioThread, start: Start) -> None:
        self._inner = inner
        self._thread = thread
        self._on_entry, inner._on_entry = inner._on_entry, None  # called in the asyncio loop
        self._held = Held(thread, inner, owner=start, logs=False)
        self._entries = _Entries(thread, inner)

    def __await__(self) -> Generator[Any, Any, Report]:
        return self._all().__await__()

    async def _all(self) -> Report:
        __tracebackhide__ = True

        async def await_run() -> Report:
            return await self._inner

        if self._on_entry is None:
            return await in_trio(self._thread, await_run)
        self._inner._on_entry = on_entry = OnEntry(self._on_entry, self._thread)
        return await on_entry.during(await_run)

    async def __aenter__(self) -> Self:
        """Start the run.

        Raises:
            ClosedError: the run was started before, or its client is not open.
        """
        __tracebackhide__ = True
        self._inner = await self._held.open("this run was started before: call apply_all(...) again for another one")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self._held.close()

    def __aiter__(self) -> Self:
        """Iterate over the entries as they complete, each once; ends with the run.

        ``on_entry`` is called with an entry before it is yielded.

        Raises:
            ClosedError: on the first step, if the run was not entered.
        """
        return self

    async def __anext__(self) -> Entry:
        __tracebackhide__ = True
        entry = await self._entries.__anext__()
        if self._on_entry is not None:
            self._on_entry(entry)
        return entry

    @property
    def total(self) -> int:
        """Number of manifests; 0 until they were read."""
        return self._inner.total

    @property
    def stopped(self) -> str:
        """Why the run stopped sending objects; ``""`` while it continues."""
        return self._inner.stopped

    @property
    def report(self) -> Report:
        """The results so far; of all objects, once the run has ended."""
        return self._inner.report
