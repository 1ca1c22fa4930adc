"""Objects and their history: one count of resourceVersions for everything, as etcd has it.

Every write appends one change to the log of its resource and takes the next revision, so the state at any
revision since the last compaction can be rebuilt, and a watch that starts where a list ended misses nothing and
sees nothing twice. Objects are kept as encoded bytes: lists and watches never decode what they send, and nobody
outside can change what is stored.
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
    """What a create, update or patch needs of a storage; each is as in :class:`Storage`."""

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """The present state of one object."""
        ...

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Write ``obj``, new or in place of what has its key."""
        ...

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """``obj`` as the next write would store it."""
        ...

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Write what :meth:`encoded` gave."""
        ...

    def remove(self, group: str, key: str) -> Version:
        """Delete an object."""
        ...


class Storage:
    """All collections, by storage group, and their common history.

    Args:
        history: How many of the latest changes are kept at least; older ones are compacted away by and by.
    """

    def __init__(self, *, history: int) -> None:
        self._history = history
        self._collections: dict[str, Collection] = {}
        self._listeners: list[Listener] = []
        self.revision: int = 0
        self.compacted: int = 0

    def collection(self, group: str) -> Collection:
        """The objects of one resource; empty where nothing was ever written."""
        return self._collections.setdefault(group, Collection())

    def collections(self) -> Mapping[str, Collection]:
        """Every collection that was ever asked for."""
        return self._collections

    def listen(self, listener: Listener) -> None:
        """Call ``listener(group, change)`` after each change, at once. It must not write."""
        self._listeners.append(listener)

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """The present state of one object."""
        return self.collection(kind.storage_group).current.get(storage_key(namespace, name))

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Write ``obj``, new or in place of what has its key, under the next revision. ``obj`` is not kept."""
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """``obj`` as the next write would store it."""
        return encode_version(kind, obj, self.revision + 1)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Write what :meth:`encoded` gave, with no other write in between."""
        collection = self.collection(kind.storage_group)
        self._commit(
            kind.storage_group, collection, Change(version.revision, collection.current.get(version.key), version)
        )
        return version

    def remove(self, group: str, key: str) -> Version:
        """Delete an object; the answer is its last content under the revision of the deletion."""
        collection = self.collection(group)
        before = collection.current[key]
        self._commit(group, collection, Change(self.revision + 1, before, None))
        return before.moved_to(self.revision)

    def compact(self, revision: int | None = None) -> None:
        """Forget the history up to ``revision`` (default: all of it). The present stays."""
        revision = self.revision if revision is None else min(revision, self.revision)
        self.compacted = max(self.compacted, revision)
        for collection in self._collections.values():
            collection.forget(self.compacted)

    def restore(self, resources: Mapping[str, Iterable[Version]], revision: int, *, rewind: bool = False) -> None:
        """Hold ``resources``, by storage group, and nothing else; history begins here.

        The count of revisions goes on from ``revision``, or from the present one if that is higher: it never goes
        back, or a client could take other changes for those it has seen. ``rewind`` lets it go back all the same.
        """
        self.revision = self.compacted = revision if rewind else max(self.revision + 1, revision)
        changes = [
            (group, change)
            for group in (*self._collections, *(group for group in resources if group not in self._collections))
            for change in self.collection(group).replace(resources.get(group, ()), self.revision)
        ]
        # Only now, so that whoever listens finds everything in its place.
        for group, change in changes:
            for listener in self._listeners:
                listener(group, change)

    def _commit(self, group: str, collection: Collection, change: Change) -> None:
        self.revision = change.revision
        collection.append(change)
        for listener in self._listeners:
            listener(group, change)
        # A quarter more than promised, so that forgetting is rare and costs little per write.
        if self.revision - self.compacted > self._history * 5 // 4:
            self.compact(self.revision - self._history)
