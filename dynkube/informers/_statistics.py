"""An informer in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube.informers._handlers import HandlerStatistics
from dynkube.informers._states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerStatistics:
    """What one informer has done and where it stands; a snapshot.

    Attributes:
        state: the phase, with its reason.
        objects: objects in the cache, before this informer's filter.
        resource_version: how far the server's history has been followed.
        lists: list requests (complete lists, not pages).
        watches: watch requests; all but the first of a generation are restarts.
        events: watch events received, bookmarks included.
        bookmarks: bookmarks among them.
        failures: attempts that failed, whether or not the next one healed it.
        lag: seconds since the server was last heard of (object, bookmark or list); ``None`` before that.
        last_error: the last failure of any kind, in words; ``""`` if there was none.
        handlers: each handler of this informer.
        users: informers that share the cache and its watch.
    """

    state: State
    objects: int
    resource_version: str
    lists: int
    watches: int
    events: int
    bookmarks: int
    failures: int
    lag: float | None
    last_error: str
    handlers: tuple[HandlerStatistics, ...]
    users: int
