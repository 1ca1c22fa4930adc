"""``ApplyRun``: one run of ``apply_all``, awaited or iterated entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Final, Self

import trio

from dynkube._nursery import OwnedNursery
from dynkube.client._client import APIClient
from dynkube.errors import ClosedError
from dynkube.informers._factory import InformerFactory
from dynkube.manifests._manifest import Manifest, check_not_empty
from dynkube.manifests._options import ApplyOptions
from dynkube.manifests._report import Entry, Outcome, Report
from dynkube.manifests._sequence import Work
from dynkube.manifests._sources import Leaf, judged, read_async, read_stdin

INTERRUPTED: Final = "not sent: the run was interrupted"
"""The reason of objects that were not sent when the run was cancelled."""


class ApplyRun:
    """Applies all objects of a source, once.

    Created by :meth:`dynkube.Client.apply_all`.

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

    def __init__(
        self,
        clients: Callable[[], tuple[APIClient, InformerFactory]],
        source: Sequence[Leaf],
        options: ApplyOptions,
        *,
        on_entry: Callable[[Entry], object] | None = None,
        stdin: Callable[[], bytes] = read_stdin,
    ) -> None:
        self._clients = clients
        self._source = source
        self._options = options
        self._on_entry = on_entry
        self._stdin = stdin
        self._nursery = OwnedNursery()
        self._send, self._receive = trio.open_memory_channel[Entry](float("inf"))
        self._manifests: Sequence[Manifest] = ()
        self._work: Work | None = None
        self._began = False
        self._complete = False
        self._over = False

    # ── public API ───────────────────────────────────────────────────────────────────────────

    def __await__(self) -> Generator[object, None, Report]:
        return self._all().__await__()

    async def _all(self) -> Report:
        async with self:
            async for _ in self:
                pass
        return self.report

    async def __aenter__(self) -> Self:
        """Start the run.

        Raises:
            ClosedError: the run was started before, or its client is not open.
        """
        if self._began:
            raise ClosedError("this run was started before: call apply_all(...) again for another one")
        self._began = True
        api, informers = self._clients()
        nursery = await self._nursery.__aenter__()
        nursery.start_soon(self._perform, api, informers, name="apply_all")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            return await self._nursery.__aexit__(exc_type, exc, traceback)
        finally:
            self._over = True

    def __aiter__(self) -> Self:
        """Iterate over the entries as they complete, each once; ends with the run.

        ``on_entry`` is called with an entry before it is yielded.

        Raises:
            ClosedError: on the first step, if the run was not entered.
        """
        return self

    async def __anext__(self) -> Entry:
        if not self._began:  # it would wait forever
            raise ClosedError(
                "this run was not started: iterate over it inside 'async with client.apply_all(...) as run:'"
            )
        try:
            entry = await self._receive.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None
        if self._on_entry is not None:
            self._on_entry(entry)
        return entry

    @property
    def total(self) -> int:
        """Number of manifests; 0 until they were read."""
        return len(self._manifests)

    @property
    def stopped(self) -> str:
        """Why the run stopped sending objects; ``""`` while it continues.

        This is the ``reason`` in the entry of each object that was not sent.
        """
        return self._work.stopped if self._work is not None else ""

    @property
    def report(self) -> Report:
        """The results so far; of all objects, once the run has ended."""
        entries = [entry for index in range(len(self._manifests)) if (entry := self._entry(index)) is not None]
        # Sorted by name, as they are deleted in parallel.
        others = sorted(self._work.others, key=lambda e: (e.object is None, e.name, e.namespace)) if self._work else []
        return Report([*entries, *others], dry_run=self._options.dry_run, interrupted=self._over and not self._complete)

    def _entry(self, index: int) -> Entry | None:
        entry = self._work.entries.get(index) if self._work is not None else None
        if entry is not None or not self._over:
            return entry
        manifest = self._manifests[index]
        return Entry(outcome=Outcome.SKIPPED, place=manifest.place, object=manifest.object, reason=INTERRUPTED)

    # ── the task ─────────────────────────────────────────────────────────────────────────────

    async def _perform(self, api: APIClient, informers: InformerFactory) -> None:
        with self._send:
            manifests = await read_async(self._source, self._stdin)
            check_not_empty(manifests, self._options.prune)
            self._manifests = await judged(manifests, self._options.namespace or api.namespace)
            self._work = Work(api, informers, self._options, self._manifests, self._send.send_nowait)
            await self._work.run()
            self._complete = True
