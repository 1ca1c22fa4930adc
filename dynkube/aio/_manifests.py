"""``apply_all`` for asyncio: its callback is called in the asyncio loop."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Any, Self

from dynkube import manifests
from dynkube._bound import Bound
from dynkube._portal.held import Start
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import in_trio
from dynkube.aio._callbacks import Callback
from dynkube.aio._held import Held
from dynkube.aio._streams import Stream
from dynkube.manifests import Entry, Report


class _Entries(Stream[Entry]):
    """The entries of a run."""

    def __init__(self, thread: TrioThread, run: manifests.ApplyRun) -> None:
        super().__init__(thread)
        self._run = run

    async def _take(self) -> list[Entry]:
        async for entry in self._run:
            return [entry]
        return []


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
        self._inner._on_entry = on_entry = Callback(self._on_entry, self._thread)
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
