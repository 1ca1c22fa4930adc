"""Compaction of old revisions, and expiry of Events by their TTL."""

from __future__ import annotations

from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.timers import Timers

_EVENTS = "events"  # of both API groups


class Compaction:
    """Removes old revisions of objects at intervals, as API servers compact etcd.

    Each compaction removes history up to the revision that was current at the previous one. Lists and watches at a
    removed resourceVersion, and continue tokens with one, then fail with 410. In a real server, watches have a separate
    window (the watch cache).

    Args:
        storage: The storage to compact.
        timers: Timers to schedule compactions.
        interval: Seconds between compactions; ``math.inf`` for never.
    """

    def __init__(self, storage: Storage, timers: Timers, interval: float) -> None:
        self._storage = storage
        self._timers = timers
        self._interval = interval
        self._mark = 0
        timers.after(interval, self._compact)

    def _compact(self) -> None:
        self._storage.compact(self._mark)
        self._mark = self._storage.revision
        self._timers.after(self._interval, self._compact)


class EventExpiry:
    """Removes Events a fixed time after their last write.

    Args:
        storage: The storage of the Events.
        timers: Timers to schedule the removal.
        ttl: Seconds from the last write of an Event to its removal; ``math.inf`` for never.
    """

    def __init__(self, storage: Storage, timers: Timers, ttl: float) -> None:
        self._storage = storage
        self._timers = timers
        self._ttl = ttl
        storage.listen(self._changed)

    def _changed(self, group: str, change: Change) -> None:
        if group == _EVENTS and change.after is not None:
            key, revision = change.after.key, change.after.revision
            self._timers.after(self._ttl, lambda: self._expire(group, key, revision))

    def _expire(self, group: str, key: str, revision: int) -> None:
        version = self._storage.collection(group).current.get(key)
        if version is not None and version.revision == revision:
            self._storage.remove(group, key)
