"""What a watch event or a fresh list means for the cache: which objects change, and how.

Versions never go backwards here: an event or a listed object that is older than what is known of the
same object (same UID) is passed over, as a lagging API server may send it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dynkube.informers._index import Change
from dynkube.informers._slices import Slices, batches
from dynkube.informers._store import EMPTY, Snapshot, same_state
from dynkube.meta import Bookmark, Deleted, Key, Unstructured, WatchEvent, is_older


@dataclass(frozen=True, slots=True)
class Version:
    """The next version of a cache: what changes, the snapshot then, and how far in history that is."""

    changes: Sequence[Change]
    snapshot: Snapshot
    resource_version: str


class Cache:
    """The objects of one resource. Works out the next version; the owner says when to publish it."""

    def __init__(self) -> None:
        self.snapshot: Snapshot = EMPTY
        self.resource_version = ""
        """How far the server's history has been followed; ``""`` before the first list."""

    def apply(self, events: Sequence[WatchEvent]) -> Version:
        """What a batch of watch events makes of it."""
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
            # Also with another UID: the end of an object that another one has replaced since.
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

    async def replace(self, objects: Mapping[Key, Unstructured], resource_version: str, slices: Slices) -> Version:
        """What a complete list makes of it; deletes come first.

        Objects that are as they were keep their identity, so nobody hears of them.
        """
        rolled_back = is_older(resource_version, self.resource_version)  # etcd was restored from a backup
        editor = self.snapshot.edit()
        changes: list[Change] = []
        for known in batches(self.snapshot):
            for obj in known:
                if obj.key not in objects:
                    editor.remove(obj.key)
                    changes.append((obj.key, obj, None))
            await slices.breathe()
        first = not len(self.snapshot)
        for listed in batches(objects.items()):
            for key, obj in listed:
                before = None if first else editor.get(key)
                if before is not None and before.uid == obj.uid:
                    # In another past the same version may stand for another change.
                    if same_state(before, obj) and (not rolled_back or before == obj):
                        continue
                    if not rolled_back and is_older(obj.resource_version, before.resource_version):
                        continue
                editor.put(key, obj)
                changes.append((key, before, obj))
            await slices.breathe()
        return Version(changes, editor.done(), resource_version)

    def publish(self, version: Version) -> None:
        """Show it to readers."""
        self.snapshot = version.snapshot
        self.resource_version = version.resource_version

    async def emptied(self, slices: Slices) -> Version:
        """The version without any object, for a resource that is gone."""
        changes: list[Change] = []
        for some in batches(self.snapshot):
            changes += [(obj.key, obj, None) for obj in some]
            await slices.breathe()
        return Version(changes, EMPTY, "")


async def add_by_key(listed: dict[Key, Unstructured], page: Iterable[Unstructured], slices: Slices) -> None:
    """Put a page's objects to those listed; of two with one key (pages of a changing list) the later one counts."""
    for some in batches(page):
        listed.update((obj.key, obj) for obj in some)
        await slices.breathe()
