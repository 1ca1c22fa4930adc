"""Storage of all objects, with one count of resourceVersions, as in etcd.

Every write appends one change to the log of its resource and takes the next revision, so the state at any
revision since the last compaction can be rebuilt, and a watch that starts at the resourceVersion of a list gets
each later change exactly once. Objects are kept as encoded bytes: lists and watches never decode what they send,
and stored objects cannot be modified from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.history import Change, Collection
from dynkube.testing._store.versions import Version, encode_version, storage_key

Listener: TypeAlias = Callable[[str, Change], None]


class WriteStorage(Protocol):
    """The methods of :class:`Storage` that create, update and patch need."""

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """Return the current version of an object; ``None`` if it does not exist."""
        ...

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Write ``obj`` under the next revision, as a new object or a replacement."""
        ...

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """Return ``obj`` as the next write would store it."""
        ...

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Write a version returned by :meth:`encoded`, with no other write in between."""
        ...

    def remove(self, group: str, key: str) -> Version:
        """Delete an object; return its last content with the revision of the deletion."""
        ...


class Storage:
    """All collections, by storage group, and their common history.

    Args:
        history: The minimum number of latest changes to keep; older ones are compacted from time to time.
    """

    def __init__(self, *, history: int) -> None:
        self._history = history
        self._collections: dict[str, Collection] = {}
        self._listeners: list[Listener] = []
        self.revision: int = 0
        self.compacted: int = 0

    def collection(self, group: str) -> Collection:
        """Return the objects of one resource; an empty collection if never written."""
        return self._collections.setdefault(group, Collection())

    def collections(self) -> Mapping[str, Collection]:
        """Return all collections accessed so far, by storage group."""
        return self._collections

    def listen(self, listener: Listener) -> None:
        """Call ``listener(group, change)`` synchronously after each change.

        It must not write.
        """
        self._listeners.append(listener)

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """Return the current version of an object; ``None`` if it does not exist."""
        return self.collection(kind.storage_group).current.get(storage_key(namespace, name))

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Write ``obj`` under the next revision, as a new object or a replacement.

        No reference to ``obj`` is kept.
        """
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """Return ``obj`` as the next write would store it."""
        return encode_version(kind, obj, self.revision + 1)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Write a version returned by :meth:`encoded`, with no other write in between."""
        collection = self.collection(kind.storage_group)
        self._commit(
            kind.storage_group, collection, Change(version.revision, collection.current.get(version.key), version)
        )
        return version

    def remove(self, group: str, key: str) -> Version:
        """Delete an object; return its last content with the revision of the deletion."""
        collection = self.collection(group)
        before = collection.current[key]
        self._commit(group, collection, Change(self.revision + 1, before, None))
        return before.moved_to(self.revision)

    def compact(self, revision: int | None = None) -> None:
        """Drop the history up to ``revision`` (default: all of it). Current objects stay."""
        revision = self.revision if revision is None else min(revision, self.revision)
        self.compacted = max(self.compacted, revision)
        for collection in self._collections.values():
            collection.forget(self.compacted)

    def restore(self, resources: Mapping[str, Iterable[Version]], revision: int, *, rewind: bool = False) -> None:
        """Replace all objects by ``resources``, by storage group; history begins here.

        Revisions continue from ``revision``, or from the current one if that is higher: they never go back, since
        clients could take other changes for those they have seen. ``rewind`` permits it nevertheless.
        """
        self.revision = self.compacted = revision if rewind else max(self.revision + 1, revision)
        changes = [
            (group, change)
            for group in (*self._collections, *(group for group in resources if group not in self._collections))
            for change in self.collection(group).replace(resources.get(group, ()), self.revision)
        ]
        # Only now, so that listeners see the complete state.
        for group, change in changes:
            for listener in self._listeners:
                listener(group, change)

    def _commit(self, group: str, collection: Collection, change: Change) -> None:
        self.revision = change.revision
        collection.append(change)
        for listener in self._listeners:
            listener(group, change)
        # A quarter more than promised, so that compaction is rare and cheap per write.
        if self.revision - self.compacted > self._history * 5 // 4:
            self.compact(self.revision - self._history)
