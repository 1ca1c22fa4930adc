"""What a live table is made of: the rows, columns and state of informers of one or several clusters.

The events of each informer are applied by a task of its own. They all run in one event loop, and share the rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress

import trio

from dynkube.errors import ClosedError
from dynkube.informers import EventStream, Phase, State
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.informers._slices import Slices
from dynkube.informers._states import next_state
from dynkube.informers._summary import state_of_clusters
from dynkube.informers._views.event_stream import queue_of
from dynkube.meta import Unstructured
from dynkube.notebook._picture import Head
from dynkube.notebook._row_keys import RowKey
from dynkube.notebook._selection import RowSelection
from dynkube.notebook._source import ONE, Sources, TableSource, filter_of, title_of
from dynkube.notebook._view import ViewHead


class Feed:
    """The sources of a table, and their rows, which :meth:`follow` keeps up to date.

    A cluster that cannot be reached keeps its rows. The rows of a closed source go, unless it is the last one.

    Args:
        sources: the informers, by the names of their clusters.
        cpu_clock: measures how long the loop is blocked.
    """

    def __init__(self, sources: Sources, cpu_clock: Callable[[], float]) -> None:
        self.rows = RowSelection(self._get)
        self._sources = sources
        self._cpu_clock = cpu_clock
        self._streams: dict[str, EventStream] = {}
        self._state = State(Phase.UNKNOWN, "Starting")

    # ── events ───────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Subscribe to the events of all sources, except closed ones.

        Raises:
            ClosedError: all are closed.
        """
        async with AsyncExitStack() as stack:
            closed: ClosedError | None = None
            for cluster, source in self._sources.items():
                try:
                    self._streams[cluster] = await stack.enter_async_context(source.events())
                except ClosedError as exc:
                    closed = exc
            if closed is not None and not self._streams:
                raise closed
            yield

    async def follow(self, changed: Callable[[], object]) -> None:
        """Apply the events of all sources until these are closed; ``changed`` is called after events and new states."""
        async with trio.open_nursery() as watching:
            for cluster, stream in self._streams.items():
                watching.start_soon(_watch_states, self._sources[cluster], changed)
                watching.start_soon(_watch_sync, stream, changed)
            async with trio.open_nursery() as folding:
                for cluster, stream in self._streams.items():
                    folding.start_soon(self._fold, cluster, stream, changed)
            watching.cancel_scope.cancel()

    async def _fold(self, cluster: str, stream: EventStream, changed: Callable[[], object]) -> None:
        queue, slices = queue_of(stream), Slices(self._cpu_clock)
        while some := queue.take_nowait() or await queue.take():
            for event in some:
                self.rows.fold(event, cluster)
            changed()
            await slices.checkpoint_if_due()
        if not self.closed:
            await slices.run(self.rows.leave(cluster))
            changed()

    def _get(self, key: RowKey) -> Unstructured | None:
        stream = self._streams.get(key[0])
        return None if stream is None else queue_of(stream).get(key[1:])

    # ── state and columns ────────────────────────────────────────────────────────────────────

    @property
    def title(self) -> str:
        """The resource, the namespace, and the number of clusters."""
        return title_of(self._sources)

    @property
    def printer_columns(self) -> dict[str, tuple[PrinterColumn, ...]]:
        """The printer columns of the CRD in each cluster."""
        return {cluster: source.printer_columns for cluster, source in self._sources.items()}

    @property
    def state(self) -> State:
        """The state of the source, or of those of all clusters together."""
        if (one := self._sources.get(ONE)) is not None:
            return one.state
        now = state_of_clusters({cluster: source.state for cluster, source in self._sources.items()})
        self._state = next_state(self._state, now.phase, now.reason, now.message)
        return self._state

    @property
    def closed(self) -> bool:
        """Whether all sources were closed, so that their objects are gone."""
        return bool(self._streams) and all(queue_of(stream).closed for stream in self._streams.values())

    @property
    def has_caught_up(self) -> bool:
        """Whether the rows are those of the source, or those of all clusters that can be listed, if not of all."""
        waiting = [cluster for cluster, stream in self._streams.items() if not stream.has_synced]
        phases = [self._sources[cluster].state.phase for cluster in waiting]
        return len(waiting) < len(self._streams) and not any(phase in (Phase.SYNCING, Phase.LIVE) for phase in phases)

    @property
    def is_settled(self) -> bool:
        """Whether each source has synced, or the reason why it cannot is known."""
        return all(_is_settled(self._sources[cluster], stream) for cluster, stream in self._streams.items())

    def head(self, *, shown: int, narrower: str, view: ViewHead | None = None) -> Head:
        """Return the header of a table with ``shown`` rows."""
        state, matching = self.state, len(self.rows)
        return Head(
            title=self.title,
            phase=str(state.phase),
            reason=state.reason,
            message=state.message,
            since=state.since.timestamp(),
            filter=filter_of(self._sources),
            shown=shown,
            matching=matching,
            total=max(matching, sum(source.statistics().objects for source in self._sources.values())),
            narrower=narrower,
            reading=not self.has_caught_up,
            view=view,
        )


async def _watch_states(source: TableSource, changed: Callable[[], object]) -> None:
    async with aclosing(source.states()) as states:
        async for _ in states:
            changed()


async def _watch_sync(stream: EventStream, changed: Callable[[], object]) -> None:
    with suppress(ClosedError):
        await queue_of(stream).wait_synced()
        changed()  # there is no event of it, and perhaps no object


def _is_settled(source: TableSource, stream: EventStream) -> bool:
    match source.state.phase:
        case Phase.UNKNOWN | Phase.SYNCING:
            return False
        case Phase.LIVE:
            return stream.has_synced
    return True
