"""Statistics: of one informer in detail, or of all informers of a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dynkube._displayable import Displayable, displayed_text
from dynkube._text.tables import Table, shortened
from dynkube.informers._states import State
from dynkube.informers._views.handlers import HandlerStatistics
from dynkube.meta import GVR, HashShard
from dynkube.meta._selectors.hash_shard import shard_text


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerStatistics(Displayable):
    """State and counters of one informer; a snapshot.

    Attributes:
        state: the phase, with its reason.
        objects: number of objects in the cache, before this informer's filter.
        listed: number of objects received so far by the list or streaming list in progress; 0 while no list is in
            progress. The cache shows them once the list is complete. The total, for a progress bar, is
            ``len(page) + (page.remaining_item_count or 0)`` of a ``page`` listed with ``limit=1`` and no selectors.
        resource_version: the last resourceVersion received.
        lists: number of lists, each with all its pages.
        watches: number of watch requests.
        restarts: watches that followed another one on the same resource; a few per hour are normal.
        events: watch events received, bookmarks included.
        bookmarks: bookmarks received.
        failures: failed lists and watches, also those after which the next attempt succeeded.
        reasons: the number of failures by reason (``Expired``, ``StreamSilent``, ``Forbidden``, ...).
        lag: seconds since the last event, bookmark or list was received; ``None`` before the first.
        last_event: when the last event (not bookmark) or list was received, in UTC; ``None`` before the first.
        last_error: the last failure of any kind, as text; ``""`` if there was none.
        handlers: the statistics of each handler of this informer.
        users: number of informers that share the cache and its watch.
    """

    state: State
    objects: int
    listed: int
    resource_version: str
    lists: int
    watches: int
    restarts: int
    events: int
    bookmarks: int
    failures: int
    reasons: Mapping[str, int]
    lag: float | None
    last_event: datetime | None
    last_error: str
    handlers: tuple[HandlerStatistics, ...]
    users: int

    def __str__(self) -> str:
        return displayed_text(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStatus:
    """One namespace of an informer of several; a snapshot.

    Attributes:
        state: the phase, its reason, and when it began. ABSENT with reason ``Forbidden``: the user may not list the
            resource there, so there are no objects; this is reviewed every ``InformerSettings.access_interval``
            seconds. DEGRADED with reason ``TooManyNamespaces``: it is not watched, because
            ``InformerSettings.max_namespaces`` others are.
        has_synced: whether the objects were listed, or may not be.
        objects: number of objects in the cache, before the informer's filter.
    """

    state: State
    has_synced: bool
    objects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerStatus:
    """One row of ``client.informers()``: a shared cache and its watch; a snapshot.

    Attributes:
        gvr: the resource.
        namespace: the namespace; ``None`` for all namespaces.
        label_selector: the label selector; ``""`` for all objects.
        field_selector: the field selector; ``""`` for all objects.
        state: the phase, its reason, and when it began. Does not have reason ``FilterPending``, as filters belong to
            one informer and not to the shared cache.
        objects: number of objects in the cache.
        resource_version: the last resourceVersion received.
        lag: seconds since the last event, bookmark or list was received; ``None`` before the first.
        backlog: number of pending events over all handlers and event streams.
        lists: number of lists, each with all its pages.
        watches: number of watch requests.
        restarts: watches that followed another one on the same resource.
        failures: failed lists and watches.
        handlers: number of handlers and event streams.
        handler_errors: number of exceptions that handlers raised.
        last_error: the last failure of any kind, as text; ``""`` if there was none.
        users: number of informers that share the cache; 0 if the last one was closed and the cache ends soon
            (``InformerSettings.linger``).
        shard: the part of the objects that is cached; ``None`` for all.
        metadata_only: whether only the metadata of the objects is cached.
        namespaces: the set of namespaces, as text; ``""`` if it is one namespace or all.
    """

    gvr: GVR
    namespace: str | None
    label_selector: str
    field_selector: str
    state: State
    objects: int
    resource_version: str
    lag: float | None
    backlog: int
    lists: int
    watches: int
    restarts: int
    failures: int
    handlers: int
    handler_errors: int
    last_error: str
    users: int
    shard: HashShard | None = None
    metadata_only: bool = False
    namespaces: str = ""

    @property
    def _restrictions(self) -> list[str]:
        only = "metadata only" if self.metadata_only else ""
        return [text for text in (self.label_selector, self.field_selector, shard_text(self.shard), only) if text]

    def __str__(self) -> str:
        return "  ".join(filter(None, _cells(self)))


_COLUMNS = (
    "RESOURCE",
    "NAMESPACE",
    "SELECTORS",
    "PHASE",
    "REASON",
    "SINCE",
    "OBJECTS",
    "LAG",
    "BACKLOG",
    "RESTARTS",
    "FAILURES",
    "USERS",
    "LAST ERROR",
)
_RIGHT = frozenset({"OBJECTS", "LAG", "BACKLOG", "RESTARTS", "FAILURES", "USERS"})
_ERROR_WIDTH = 80


class InformerStatuses(Displayable, tuple[InformerStatus, ...]):
    """The result of ``client.informers()``: a tuple that prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(self._table())

    def _table(self) -> Table:
        return Table(_COLUMNS, tuple(map(_cells, self)), _RIGHT)


def _cells(status: InformerStatus) -> tuple[str, ...]:
    return (
        str(status.gvr),
        status.namespace or status.namespaces or "*",
        ",".join(status._restrictions),
        str(status.state.phase),
        status.state.reason,
        status.state.since.strftime("%Y-%m-%dT%H:%M:%SZ"),
        str(status.objects),
        "" if status.lag is None else f"{status.lag:.0f}s",
        str(status.backlog),
        str(status.restarts),
        str(status.failures),
        str(status.users),
        shortened(" ".join(status.last_error.split()), _ERROR_WIDTH),
    )
