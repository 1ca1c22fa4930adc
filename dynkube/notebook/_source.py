"""The sources of a live table: informers, or objects with their interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeAlias

from dynkube.informers import EventStream, Filter, InformerStatistics, State
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.meta import GVR


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


Sources: TypeAlias = Mapping[str, TableSource]
"""The sources of a table by the names of their clusters: one with the name :data:`ONE`, or those of several."""

ONE: Final = ""
"""In place of the name of a cluster, in a table of one."""


def title_of(sources: Sources) -> str:
    """Return the title of a table: the resource, the namespace, and how many clusters if it is a table of several."""
    resources = dict.fromkeys(str(source.gvr) for source in sources.values() if source.gvr is not None)
    namespaces = {source.namespace or "" for source in sources.values()}
    where = f" in {namespace}" if len(namespaces) == 1 and (namespace := min(namespaces)) else ""
    count = f" of {len(sources):,} {'cluster' if len(sources) == 1 else 'clusters'}" if ONE not in sources else ""
    return f"{', '.join(resources) or 'informer'}{where}{count}"


def filter_of(sources: Sources) -> str:
    """Return a description of the filters, for each cluster if they differ; ``""`` if there are none."""
    filters = {name: "" if source.filter is None else repr(source.filter) for name, source in sources.items()}
    if len(set(filters.values())) == 1:
        return next(iter(filters.values()))
    return "; ".join(f"{cluster}: {text}" for cluster, text in filters.items() if text)
