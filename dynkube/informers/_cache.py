"""What a watch event or a complete list means for the cache: which objects change, and how.

A watch replays: after a reconnect, from an API server whose watch cache lags, or because the pages of a list were newer
than the version that the watch starts from. So an *event* that is older than the cached object is skipped.

A *list* is authoritative, whatever versions its objects carry. The reflector accepts none that is older than what it
has followed, unless the server's revisions went back; so where a listed object is older than the cached one, the
storage was restored from a backup, and the listed state is the current one. (After ``etcdutl snapshot restore
--bump-revision`` the list's own version is higher than any before, while the objects keep those of the backup.)
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
        """How far the server's revisions have been followed; ``""`` before the first list."""
        self._versions_reused = False

    def revisions_regressed(self) -> None:
        """The server's revisions went back: until the next list, one version may stand for two states of an object."""
        self._versions_reused = True

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
            # A replay. Also with another UID: the deletion of an object that has been replaced by another one since.
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
        """The version that holds exactly ``objects``; deletions come first.

        Objects that did not change keep their identity, so no event is made of them.

        Args:
            objects: a complete list.
            resource_version: the list's own.
            slices: the time it may hold the event loop.
        """
        # Revisions that went back are written again, so an equal version proves nothing. Else it is the proof, and
        # contents are not compared: that would decode objects whose JSON a watch and a list order differently.
        compare_content = self._versions_reused or is_older(resource_version, self.resource_version)
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
                if before is None or not same_state(before, obj) or (compare_content and before != obj):
                    editor.put(key, obj)
                    changes.append((key, before, obj))
            await slices.breathe()
        self._versions_reused = False
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


def add_newest(listed: dict[Key, Unstructured], obj: Unstructured) -> None:
    """Put ``obj`` among the objects listed so far, unless a newer state of its key is there already.

    One key comes twice where the pages of a list have different versions, or a server repeats an initial event. The
    newer version wins also where the UIDs differ: an object that was created again has a later version than all
    states of the one before it. Where versions cannot be compared, what was sent last wins.
    """
    known = listed.setdefault(obj.key, obj)
    if known is not obj and not is_older(obj.resource_version, known.resource_version):
        listed[obj.key] = obj


def remove_unless_newer(listed: dict[Key, Unstructured], deleted: Unstructured) -> None:
    """Take an object that was deleted while it was listed out again, unless it was created anew since."""
    known = listed.get(deleted.key)
    if known is not None and not is_older(deleted.resource_version, known.resource_version):
        del listed[deleted.key]


async def add_page(listed: dict[Key, Unstructured], page: Iterable[Unstructured], slices: Slices) -> None:
    """Put the objects of one page among those listed so far, as :func:`add_newest` does."""
    for some in batches(page):
        for obj in some:
            add_newest(listed, obj)
        await slices.breathe()
