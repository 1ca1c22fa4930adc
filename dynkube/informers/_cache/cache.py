"""Applies watch events and complete lists to the cache.

A watch may replay events: after a reconnect, from an API server whose watch cache lags, or because the pages of a list
were newer than the version from which the watch starts. So an *event* that is older than the cached object is skipped.
A *list* is applied as it is, whatever versions its objects have. The reflector accepts no list that is older than the
last version it received, unless etcd's revisions went back. So if a listed object is older than the cached one, etcd
was restored from a backup, and the listed state is the current one. (After ``etcdutl snapshot restore --bump-revision``
the version of the list is higher than any before, while the objects keep the versions of the backup.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dynkube.informers._cache.index import Change
from dynkube.informers._cache.store import EMPTY, ListedObjects, Snapshot, same_state
from dynkube.informers._slices import Slices, batches
from dynkube.meta import Bookmark, Deleted, Unstructured, WatchEvent
from dynkube.meta._versions import is_older


class Changes(Protocol):
    """Changes of objects, in their order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Change]: ...


class AllChanged:
    """The changes of a cache that was empty or becomes empty.

    Not a list, which would take as much memory as the cache, and block the event loop when it is freed.

    Args:
        objects: the objects that were added or deleted.
        deleted: which of both.
    """

    __slots__ = ("_deleted", "_objects")

    def __init__(self, objects: Snapshot, *, deleted: bool) -> None:
        self._objects = objects
        self._deleted = deleted

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Change]:
        if self._deleted:
            return ((obj.key, obj, None) for obj in self._objects)
        return ((obj.key, None, obj) for obj in self._objects)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a cache: snapshot, resourceVersion, and changes since the last one."""

    changes: Changes
    snapshot: Snapshot
    resource_version: str


def forgotten(changes: Changes) -> Iterator[None]:
    """Return an iterator that frees changes in short steps, once they were delivered.

    Freeing 100,000 changes at once, with the objects before them, blocks the event loop for 0.2 s.
    """
    if isinstance(changes, list):
        while changes:
            del changes[-64:]
            yield


class Cache:
    """The objects of one resource; computes versions, which the owner publishes."""

    __slots__ = ("_versions_reused", "resource_version", "snapshot")

    def __init__(self) -> None:
        self.snapshot: Snapshot = EMPTY
        self.resource_version = ""
        """The last resourceVersion received; ``""`` before the first list."""
        self._versions_reused = False

    def versions_reused(self) -> None:
        """Record that two different states of an object may have the same resourceVersion, until the next list.

        So it is if the server's resourceVersions went back, and if objects are listed in another API version.
        """
        self._versions_reused = True

    def apply(self, events: Sequence[WatchEvent]) -> Version:
        """Return the version after a batch of watch events."""
        editor = self.snapshot.edit()
        changes: list[Change] = []
        version = self.resource_version
        for event in events:
            if isinstance(event, Bookmark):
                version = event.resource_version
                continue
            obj = event.object
            key = obj.key
            version = obj.resource_version
            known = editor.get(key)
            # An older event: a replay, or (if the UID differs) the deletion of an object that was created again since.
            if known is not None and is_older(obj.resource_version, known.resource_version):
                continue
            if isinstance(event, Deleted):
                if known is not None:
                    editor.remove(key)
                    changes.append((key, known, None))
            elif known is None or not same_state(known, obj):
                editor.put(key, obj)
                changes.append((key, known, obj))
        if is_older(version, self.resource_version):
            version = self.resource_version
        return Version(changes, editor.done() if changes else self.snapshot, version)

    async def replace(self, listed: Snapshot, resource_version: str, slices: Slices) -> Version:
        """Return the version with exactly the listed objects; deletions come first.

        Unchanged objects keep their identity and cause no change.

        Args:
            listed: a complete list.
            resource_version: the version of the list.
            slices: limits how long this runs without yielding to the event loop.
        """
        # If resourceVersions were reused, objects of the same one may have different contents. Otherwise contents are
        # not compared: an object whose JSON is ordered differently in a watch and in a list would have to be decoded.
        compare_content = self._versions_reused or is_older(resource_version, self.resource_version)
        self._versions_reused = False
        if not len(self.snapshot):
            return Version(AllChanged(listed, deleted=False), listed, resource_version)
        changes: list[Change] = []
        editor = self.snapshot.edit()
        for known in batches(self.snapshot):
            for obj in known:
                if listed.get(obj.key) is None:
                    editor.remove(obj.key)
                    changes.append((obj.key, obj, None))
            await slices.checkpoint_if_due()
        for some in batches(listed):
            for obj in some:
                key = obj.key
                before = editor.get(key)
                if before is None or not same_state(before, obj) or (compare_content and before != obj):
                    editor.put(key, obj)
                    changes.append((key, before, obj))
            await slices.checkpoint_if_due()
        await slices.run(editor.freeze())
        return Version(changes, editor.done(), resource_version)

    def publish(self, version: Version) -> None:
        """Make a version visible to readers."""
        self.snapshot = version.snapshot
        self.resource_version = version.resource_version

    def emptied(self) -> Version:
        """Return the version without objects, for a resource that is not served any more."""
        return Version(AllChanged(self.snapshot, deleted=True), EMPTY, "")


async def add_page(listed: ListedObjects, page: Iterable[Unstructured], slices: Slices) -> None:
    """Add the objects of one page to those listed so far."""
    for some in batches(page):
        for obj in some:
            listed.add(obj)
        await slices.checkpoint_if_due()
