"""The objects of one resource, now and at any revision since the last compaction."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from dynkube_testing._store.versions import Version


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of one object, as an entry of the log.

    Attributes:
        revision: The revision of the change.
        before: The object before the change; ``None`` for a creation.
        after: The object after the change; ``None`` for a deletion.
    """

    revision: int
    before: Version | None
    after: Version | None


class Past:
    """A lazy sequence of a collection's objects at one revision, in key order.

    ``len()`` does not iterate. It is valid only until the next change of the collection, so do not use it across a
    checkpoint.

    Args:
        current: The current objects by key.
        keys: The current keys, sorted.
        changed: The objects at the revision, for the keys that have changed since; ``None`` if an object did not exist.
        prefix: Only keys with this prefix are included.
        start: Only keys from this one on are included.
    """

    def __init__(
        self,
        current: Mapping[str, Version],
        keys: Sequence[str],
        changed: Mapping[str, Version | None],
        prefix: str,
        start: str,
    ) -> None:
        self._current = current
        self._keys = keys
        self._changed = changed
        self._low = bisect_left(keys, max(start, prefix))
        self._high = bisect_left(keys, prefix + "\U0010ffff") if prefix else len(keys)
        mine = [key for key in changed if key.startswith(prefix) and key >= start]
        self._lost = sorted(key for key in mine if changed[key] is not None and key not in current)
        self._new = sum(changed[key] is None and key in current for key in mine)

    def __len__(self) -> int:
        return max(0, self._high - self._low) + len(self._lost) - self._new

    def first(self, limit: int = 0) -> list[Version]:
        """Return the first ``limit`` objects; all objects if it is 0."""
        if self._changed:
            return list(islice(self, limit or None))
        keys = self._keys[self._low : self._high]
        return [self._current[key] for key in (keys[:limit] if limit else keys)]

    def __iter__(self) -> Iterator[Version]:
        present = (self._keys[index] for index in range(self._low, self._high))
        for key in merge(present, self._lost) if self._lost else present:
            version = self._changed[key] if key in self._changed else self._current[key]
            if version is not None:
                yield version


class Collection:
    """The objects of one resource, and a log of their recent changes.

    The log begins at the last compaction.
    """

    def __init__(self) -> None:
        self.current: dict[str, Version] = {}
        self.log: list[Change] = []
        #: The highest revision of a change that was dropped from :attr:`log`. Watches at a lower revision have missed
        #: changes.
        self.forgotten: int = 0
        #: The lowest resourceVersion from which watches may start. It simulates the watch cache of a real server, which
        #: has no changes from before the start of the server, even if they are in :attr:`log`.
        self.watched_since: int = 0
        self._keys: list[str] = []

    def since(self, revision: int) -> int:
        """Return the index in :attr:`log` of the first change after ``revision``."""
        return bisect_right(self.log, revision, key=_revision)

    def past(self, revision: int, prefix: str = "", start: str = "") -> Past:
        """Return the objects at ``revision`` in key order, without copying them.

        Only keys with ``prefix``, and from ``start`` on, are included. The result is valid until the next change.
        """
        changed: dict[str, Version | None] = {}
        for change in reversed(self.log[self.since(revision) :]):
            version = change.before or change.after
            assert version is not None
            changed[version.key] = change.before
        return Past(self.current, self._keys, changed, prefix, start)

    def at(self, revision: int, prefix: str = "", start: str = "") -> list[Version]:
        """Return the objects at ``revision`` as a list; see :meth:`past`."""
        return self.past(revision, prefix, start).first()

    def walk(self, prefix: str) -> Iterator[Version]:
        """Yield the current objects whose keys have ``prefix``, in key order.

        The collection may be changed during the iteration.
        """
        index = bisect_left(self._keys, prefix)
        while index < len(self._keys) and (key := self._keys[index]).startswith(prefix):
            yield self.current[key]
            index = bisect_right(self._keys, key)

    def append(self, change: Change) -> None:
        """Append ``change`` to the log and apply it to the current objects."""
        if change.after is None:
            assert change.before is not None
            key = change.before.key
            del self.current[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            key = change.after.key
            if change.before is None:
                insort(self._keys, key)
            self.current[key] = change.after
        self.log.append(change)

    def replace(self, versions: Iterable[Version], revision: int) -> list[Change]:
        """Replace all objects by ``versions``, and drop the log.

        Returns:
            The changes from the former to the new objects, at ``revision``.
        """
        before, self.current = self.current, {version.key: version for version in versions}
        self._keys = sorted(self.current)
        self.log, self.forgotten = [], revision
        self.watched_since = min(self.watched_since, revision)
        gone = [Change(revision, version, None) for key, version in before.items() if key not in self.current]
        return gone + [Change(revision, before.get(key), version) for key, version in self.current.items()]

    def forget(self, revision: int) -> None:
        """Drop the changes up to and including ``revision`` from the log."""
        end = self.since(revision)
        if end:
            self.forgotten = self.log[end - 1].revision
            del self.log[:end]


def _revision(change: Change) -> int:
    return change.revision
