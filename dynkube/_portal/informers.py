"""What the informers of all threads have in common: reads, and what is set in the trio thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from dynkube import informers
from dynkube._display import Card, card_of
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube._portal.facade import Facade, at_once, in_loop
from dynkube.informers import Filter, HandlerStatistics, NamespaceStatus, State
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.meta import GVR, Unstructured


class RegistrationFacade(Facade[informers.Registration]):
    """A handler registered with an informer."""

    __slots__ = ()

    @in_loop(informers.Registration.remove)
    def remove(self) -> None:
        """Remove the handler: no call starts after this returns.

        A running call is not interrupted. Idempotent.
        """

    @property
    def name(self) -> str:
        """The name of the handler in logs and statistics."""
        return self._inner.name

    @property
    def backlog(self) -> int:
        """The number of objects with a queued event."""
        return self._inner.backlog

    @property
    def errors(self) -> int:
        """How often the handler has raised."""
        return self._inner.errors

    @property
    def has_synced(self) -> bool:
        """Whether the handler has handled the initial objects. Stays true once true."""
        return self._inner.has_synced

    def statistics(self) -> HandlerStatistics:
        """Return counters of the handler. Does not block."""
        return self._inner.statistics()


class InformerFacade(Facade[informers.Informer], Displayable):
    """A local cache of one collection, kept current by a watch."""

    __slots__ = ()

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    @at_once(informers.Informer.list)
    def list(self) -> None: ...

    @at_once(informers.Informer.get)
    def get(self) -> None: ...

    @at_once(informers.Informer.by_index)
    def by_index(self) -> None: ...

    @at_once(informers.Informer.to_pandas)
    def to_pandas(self) -> None: ...

    @at_once(informers.Informer.to_polars)
    def to_polars(self) -> None: ...

    @at_once(informers.Informer.statistics)
    def statistics(self) -> None: ...

    def __len__(self) -> int:
        return len(self._inner)

    def __iter__(self) -> Iterator[Unstructured]:
        return iter(self._inner)

    @property
    def gvr(self) -> GVR | None:
        """The resource; its version is empty while that of an informer on RESOURCE.GROUP is not known."""
        return self._inner.gvr

    @property
    def namespace(self) -> str | None:
        """The namespace that is watched; ``None`` for all namespaces, or a set."""
        return self._inner.namespace

    @property
    def namespaces(self) -> Mapping[str, NamespaceStatus]:
        """The status of each namespace of the set that was passed as ``namespaces=``, by name."""
        return self._inner.namespaces

    @property
    def printer_columns(self) -> tuple[PrinterColumn, ...]:
        """The printer columns of the CRD (``additionalPrinterColumns``).

        Empty if the CRD has none, there is no CRD, or reading CRDs is forbidden. Updated when the CRD changes.
        """
        return self._inner.printer_columns

    @property
    def state(self) -> State:
        """The current phase, its reason, and when it began; ``str()`` of it is readable."""
        return self._inner.state

    @property
    def filter(self) -> Filter | None:
        """The filter, or ``None``."""
        return self._inner.filter

    @property
    def has_synced(self) -> bool:
        """Whether the initial sync is complete, including every handler registered before.

        Stays true once true.
        """
        return self._inner.has_synced

    # ── filter and indexes ───────────────────────────────────────────────────────────────────

    @in_loop(informers.Informer.set_filter)
    def set_filter(self) -> None: ...

    @in_loop(informers.Informer.refresh_filter)
    def refresh_filter(self) -> None: ...

    @in_loop(informers.Informer.add_index)
    def add_index(self) -> None: ...


@render.register(InformerFacade)
def informer_card(informer: InformerFacade, now: datetime) -> Card:
    """Return the card of the informer in trio."""
    return card_of(informer._inner, now)
