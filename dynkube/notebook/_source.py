"""The source of a live table: an informer, or an object with its interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from dynkube.informers import EventStream, Filter, InformerStatistics, State
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.meta import GVR
from dynkube.notebook._picture import Head
from dynkube.notebook._view import ViewHead


class TableSource(Protocol):
    """The part of the interface of :class:`dynkube.Informer` that a live table uses."""

    @property
    def gvr(self) -> GVR | None:
        """The resource."""
        ...

    @property
    def namespace(self) -> str | None:
        """The namespace it is limited to; ``None`` for all."""
        ...

    @property
    def state(self) -> State:
        """The current state."""
        ...

    @property
    def filter(self) -> Filter | None:
        """The filter, or ``None``."""
        ...

    @property
    def printer_columns(self) -> tuple[PrinterColumn, ...]:
        """The printer columns of the CRD."""
        ...

    def events(self) -> AbstractAsyncContextManager[EventStream]:
        """Return the events, beginning with an Added for each object in the cache."""
        ...

    def states(self) -> AsyncGenerator[State, None]:
        """Return the current state, then each new one."""
        ...

    def statistics(self) -> InformerStatistics:
        """Return statistics with the number of objects, including those that the filter hides."""
        ...


def title_of(source: TableSource) -> str:
    """Return the title of a table: the resource and the namespace."""
    where = f" in {source.namespace}" if source.namespace else ""
    return f"{source.gvr or 'informer'}{where}"


def head_of(
    source: TableSource, *, shown: int, matching: int, narrower: str, reading: bool, view: ViewHead | None = None
) -> Head:
    """Return the header of a table with ``shown`` rows, of ``matching`` objects that pass the filter."""
    state, shows = source.state, source.filter
    return Head(
        title=title_of(source),
        phase=str(state.phase),
        reason=state.reason,
        message=state.message,
        since=state.since.timestamp(),
        filter="" if shows is None else repr(shows),
        shown=shown,
        matching=matching,
        total=max(matching, source.statistics().objects),
        narrower=narrower,
        reading=reading,
        view=view,
    )
