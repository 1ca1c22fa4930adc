"""Informers in numbers: one of them in all detail, or all of a client in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dynkube._display import Shown, Table, shortened
from dynkube.informers._handlers import HandlerStatistics
from dynkube.informers._states import State
from dynkube.meta import GVR

if TYPE_CHECKING:
    from dynkube._display import Card


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerStatistics(Shown):
    """What one informer has done and where it stands; a snapshot.

    Attributes:
        state: the phase, with its reason.
        objects: objects in the cache, before this informer's filter.
        resource_version: how far the server's history has been followed.
        lists: list requests (complete lists, not pages).
        watches: watch requests.
        restarts: of these the ones that followed another on the same resource: a few an hour are normal.
        events: watch events received, bookmarks included.
        bookmarks: bookmarks among them.
        failures: attempts that failed, whether or not the next one healed it.
        reasons: the failures by reason (``Expired``, ``StreamSilent``, ``Forbidden``, ...).
        lag: seconds since the server was last heard of (object, bookmark or list); ``None`` before that.
        last_event: when the last change or list came, bookmarks aside, in UTC; ``None`` before that.
        last_error: the last failure of any kind, in words; ``""`` if there was none.
        handlers: each handler of this informer.
        users: informers that share the cache and its watch.
    """

    state: State
    objects: int
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

    def _card(self, now: datetime) -> Card:
        from dynkube.informers._shown import statistics_card

        return statistics_card(self, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerStatus:
    """One line of ``client.informers()``: a cache, its watch, and all who use them; a snapshot.

    Attributes:
        gvr: the resource.
        namespace: ``None`` for all.
        label_selector: ``""`` for all.
        field_selector: ``""`` for all.
        state: the phase, why, and since when. Filters that wait are each informer's own, and not in it.
        objects: in the cache.
        resource_version: how far the server's history has been followed.
        lag: seconds since the server was last heard of; ``None`` before that.
        backlog: objects that wait to be shown, over all handlers.
        lists: list requests.
        watches: watch requests.
        restarts: watches that followed another on the same resource.
        failures: attempts that failed.
        handlers: handlers and event streams.
        handler_errors: how often one of them raised.
        last_error: the last failure of any kind, in words; ``""`` if there was none.
        users: informers that share it; 0 for one that ends soon, as its last user has left
            (``InformerSettings.linger``).
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


class InformerStatuses(Shown, tuple[InformerStatus, ...]):
    """What ``client.informers()`` gives: a tuple that prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(self._table())

    def _card(self, now: datetime) -> Card:
        from dynkube.informers._shown import statuses_card

        return statuses_card(self, now)

    def _table(self) -> Table:
        return Table(_COLUMNS, tuple(map(_cells, self)), _RIGHT)


def _cells(status: InformerStatus) -> tuple[str, ...]:
    return (
        str(status.gvr),
        status.namespace or "*",
        ",".join(filter(None, (status.label_selector, status.field_selector))),
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
