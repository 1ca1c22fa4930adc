"""What a live table follows. Informers are such; so is whatever else has the same few names."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from dynkube.informers import EventStream, Filter, InformerStatistics, PrinterColumn, State
from dynkube.meta import GVR
from dynkube.notebook._picture import Head


class Source(Protocol):
    """A collection that tells of its changes; see :class:`dynkube.Informer`."""

    @property
    def gvr(self) -> GVR | None:
        """The resource."""
        ...

    @property
    def namespace(self) -> str | None:
        """The namespace it is limited to."""
        ...

    @property
    def state(self) -> State:
        """Where it stands."""
        ...

    @property
    def filter(self) -> Filter | None:
        """What decides which objects it shows."""
        ...

    @property
    def printer_columns(self) -> tuple[PrinterColumn, ...]:
        """The columns that the resource's definition asks for."""
        ...

    def events(self) -> AbstractAsyncContextManager[EventStream]:
        """What happens, from an Added for each object that is there."""
        ...

    def states(self) -> AsyncGenerator[State, None]:
        """The state now, and each other state as it comes."""
        ...

    def statistics(self) -> InformerStatistics:
        """The number of objects that there are, those that the filter hides included."""
        ...


def title_of(source: Source) -> str:
    """Which resource, and where."""
    where = f" in {source.namespace}" if source.namespace else ""
    return f"{source.gvr or 'informer'}{where}"


def head_of(source: Source, *, shown: int, matching: int, narrower: str) -> Head:
    """What stands above so many rows, of so many objects that the filter shows."""
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
    )
