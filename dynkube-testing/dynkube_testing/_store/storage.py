"""Storage of all objects, with one sequence of resourceVersions, as in etcd.

Every write gets the next revision and appends one change to the log of its resource. So the state at any revision since
the last compaction can be rebuilt, and a watch that starts at the resourceVersion of a list gets each later change
exactly once. Objects are stored as encoded bytes. So lists and watches send them without decoding, and callers cannot
modify stored objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.history import Change, Collection
from dynkube_testing._store.versions import Version, encode_version, storage_key

Listener: TypeAlias = Callable[[str, Change], None]


class WriteStorage(Protocol):
    """The methods of :class:`Storage` that are used by create, update and patch."""

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """Return the current version of an object; ``None`` if it does not exist."""
        ...

    def objects(self, group: str, namespace: str = "") -> list[Version]:
        """Return the current objects of a resource: those in ``namespace``, or all."""
        ...

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Store ``obj`` at the next revision, as a new object or a replacement."""
        ...

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """Return ``obj`` as the next write would store it."""
        ...

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Store a version that :meth:`encoded` has returned.

        No other write may happen in between.
        """
        ...

    def remove(self, group: str, key: str) -> Version:
        """Delete an object, and return its last content with the revision of the deletion."""
        ...


class Storage:
    """All collections, by storage group, and their common history.

    Args:
        history: The minimum number of past changes to keep; older ones are compacted from time to time.
    """

    def __init__(self, *, history: int) -> None:
        self._history = history
        self._collections: dict[str, Collection] = {}
        self._listeners: list[Listener] = []
        self.revision: int = 0
        self.compacted: int = 0

    def collection(self, group: str) -> Collection:
        """Return the collection of one resource; it is empty if nothing was written to it."""
        return self._collections.setdefault(group, Collection())

    def collections(self) -> Mapping[str, Collection]:
        """Return all collections that have been accessed, by storage group."""
        return self._collections

    def listen(self, listener: Listener) -> None:
        """Call ``listener(group, change)`` synchronously after each change.

        The listener must not write to the storage.
        """
        self._listeners.append(listener)

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """Return the current version of an object; ``None`` if it does not exist."""
        return self.collection(kind.storage_group).current.get(storage_key(namespace, name))

    def objects(self, group: str, namespace: str = "") -> list[Version]:
        """Return the current objects of a resource: those in ``namespace``, or all."""
        found = self._collections.get(group)
        if found is None or not found.current:
            return []
        # list() does not switch threads, as large writes read this in another one.
        return [each for each in list(found.current.values()) if not namespace or each.namespace == namespace]

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Store ``obj`` at the next revision, as a new object or a replacement.

        No reference to ``obj`` is kept.
        """
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """Return ``obj`` as the next write would store it."""
        return encode_version(kind, obj, self.revision + 1)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Store a version that :meth:`encoded` has returned.

        No other write may happen in between.
        """
        collection = self.collection(kind.storage_group)
        before = collection.current.get(version.key)
        version = version.copied(kind, version.sharing(before))
        self._commit(kind.storage_group, collection, Change(version.revision, before, version))
        return version

    def remove(self, group: str, key: str) -> Version:
        """Delete an object, and return its last content with the revision of the deletion."""
        collection = self.collection(group)
        before = collection.current[key]
        self._commit(group, collection, Change(self.revision + 1, before, None))
        return before.moved_to(self.revision)

    def compact(self, revision: int | None = None) -> None:
        """Drop the history up to ``revision`` (default: all of it).

        The current objects stay.
        """
        revision = self.revision if revision is None else min(revision, self.revision)
        self.compacted = max(self.compacted, revision)
        for collection in self._collections.values():
            collection.forget(self.compacted)

    def forget_watches(self) -> None:
        """Reject new watches from earlier revisions, as a real server does after a restart, with empty watch caches."""
        for collection in self._collections.values():
            collection.watched_since = self.revision

    def restore(self, resources: Mapping[str, Iterable[Version]], revision: int, *, rewind: bool = False) -> None:
        """Replace all objects, and drop the whole history.

        Args:
            resources: The new objects by storage group.
            revision: The revision of the new objects.
            rewind: Whether the current revision becomes ``revision`` even if it is lower. Otherwise it always
                increases, because a client could take a new change for one that it has seen with the same
                resourceVersion.
        """
        self.revision = self.compacted = revision if rewind else max(self.revision + 1, revision)
        changes = [
            (group, change)
            for group in (*self._collections, *(group for group in resources if group not in self._collections))
            for change in self.collection(group).replace(resources.get(group, ()), self.revision)
        ]
        # Listeners are called after all collections were replaced, so that they see the complete state.
        for group, change in changes:
            for listener in self._listeners:
                listener(group, change)

    def _commit(self, group: str, collection: Collection, change: Change) -> None:
        self.revision = change.revision
        collection.append(change)
        for listener in self._listeners:
            listener(group, change)
        # Up to a quarter more changes are kept, so that compactions are rare, and cheap per write.
        if self.revision - self.compacted > self._history * 5 // 4:
            self.compact(self.revision - self._history)
