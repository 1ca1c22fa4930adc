"""Writes that an informer has not received yet, so that nothing acts on a cache from before its own writes.

The same as the consistency that kube-controller-manager has since KEP-5647, and controller-runtime as an experiment:
after a write, its resourceVersion is compared with the one that the cache has reached (comparable since KEP-5504).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Never

import trio

from dynkube.informers._availability.observations import ServingProof
from dynkube.informers._cache.index import printed
from dynkube.informers._informer import Informer
from dynkube.informers._shared_informer import SharedInformer
from dynkube.meta import FieldRequirement, FieldSelector, Unstructured
from dynkube.meta._object import Key
from dynkube.meta._versions import is_older, version_order

_ABSENT: Final = ("", "false", "0")
_RENAMED_FIELDS: Final = {"status.successful", "source", "reportingComponent"}  # of Jobs and core Events


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    """A write that the cache does not show yet.

    Attributes:
        key: of the object.
        uid: of the object.
        version: the resourceVersion that the cache has to reach.
        proof: what the response shows: the resource was served.
        seen: called once the cache shows the write.
    """

    key: Key
    uid: str
    version: str
    proof: ServingProof
    seen: Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class PendingDelete:
    """A deletion that the cache does not show yet: the object is gone, whether or not it was terminating before.

    Attributes:
        key: of the object.
        uid: of the object.
        version: the resourceVersion that the cache has to reach.
        since: when the deletion was recorded, on trio's clock.
        seen: called once the cache shows the deletion, or it is withdrawn.
    """

    key: Key
    uid: str
    version: str
    since: float
    seen: Callable[[], None]


class PendingWrites:
    """The writes to objects of one informer that its cache does not show yet.

    Not thread-safe: for the event loop's thread.

    Writes are seen as well once the informer is closed, the server's resourceVersions went back, as after the restore
    of a backup, or the resource is absent by an observation that is newer than the write: there is nothing left to wait
    for. An older absence does not count, as the write was only possible while the resource was served.
    """

    def __init__(self, informer: Informer) -> None:
        self._informer = informer
        self._by_version: list[tuple[tuple[int, str], int, _Write]] = []  # a heap
        self._deletes: list[PendingDelete] = []
        self._unknown: list[Callable[[], None]] = []
        self._uids: dict[str, int] = {}  # how many of the heap are of this object
        self._count = 0
        self._newest = ""  # resourceVersion that the cache had last
        self._expecting = trio.Event()

    def __len__(self) -> int:
        return len(self._by_version) + len(self._deletes) + len(self._unknown)

    @property
    def knows_objects(self) -> bool:
        """Whether it is known which objects exist: they are listed, or were deleted with their CRD; on any thread."""
        shared = self._informer._shared
        return shared is None or shared.objects_known

    @property
    def resource_absent(self) -> bool:
        """Whether it is known that the resource is not served, so that the cache will not show any write."""
        shared = self._informer._shared
        return shared is None or shared.gone

    def may_show(self, obj: Unstructured) -> bool:
        """Return whether the cache may have this object, by its namespace and name."""
        shared = self._informer._shared
        if shared is None or shared.key.namespace not in (None, obj.namespace):
            return False
        identity = [each for each in shared.key.field_selector.requirements if each.field == "metadata.name"]
        return not obj.name or may_select(FieldSelector(tuple(identity)), obj)

    def receives(self, obj: Unstructured) -> bool:
        """Return whether the informer receives this version of an object, or the event that it left the selection."""
        shared = self._informer._shared
        return shared is not None and self._comes(shared, obj)

    def expect(self, obj: Unstructured, seen: Callable[[], None]) -> bool:
        """Record a write, and return whether the cache still has to show it.

        Args:
            obj: the object as the server returned it.
            seen: called once, when the cache shows this version or a newer one. Must not raise.
        """
        shared = self._informer._shared
        if shared is None or not self._comes(shared, obj):
            return False
        return self._expect(_Write(obj.key, obj.uid, obj.resource_version, shared.proof_of(obj), seen), shared)

    def expect_version(self, version: str, seen: Callable[[], None]) -> bool:
        """Record a resourceVersion that the cache has to reach, and return whether it still has to.

        If nothing changes, it does so by the next bookmark, within about a minute.

        Args:
            version: the resourceVersion of a list.
            seen: called once, when the cache has reached it. Must not raise.
        """
        shared = self._informer._shared
        if shared is None:
            return False
        return self._expect(_Write(("", ""), "", version, shared.proof_of_list(version), seen), shared)

    def expect_deleted(self, obj: Unstructured, seen: Callable[[], None]) -> bool:
        """Record that an object was deleted, and return whether the cache still has to show that.

        Args:
            obj: the object as last known, with its UID.
            seen: called once, when the cache does not have the object. Must not raise.
        """
        shared = self._informer._shared
        if shared is None or not obj.uid:
            return False
        write = PendingDelete(obj.key, obj.uid, obj.resource_version, trio.current_time(), seen)
        if not self._comes(shared, obj) or _shows(shared, write):
            return False
        self._deletes.append(write)
        self._expecting.set()
        return True

    def overdue(self, seconds: float) -> list[PendingDelete]:
        """Return the deletions that were recorded more than ``seconds`` ago while the cache still has the object.

        A deletion may have been undone by the restore of a backup: then it has to be read from the server whether the
        object exists.
        """
        shared = self._informer._shared
        if shared is None:
            return []
        before, known = trio.current_time() - seconds, shared.snapshot
        return [each for each in self._deletes if each.since < before and _has(known.get(each.key), each)]

    def withdraw(self, delete: PendingDelete) -> None:
        """Stop waiting for a deletion, and call its ``seen``; no effect if the cache has shown it meanwhile."""
        if delete in self._deletes:
            self._deletes.remove(delete)
            delete.seen()

    def expect_objects(self, seen: Callable[[], None]) -> bool:
        """Record that it has to be known which objects exist, and return whether it is not yet.

        Args:
            seen: called once, when the objects are listed, or are known to be deleted with their CRD. Must not raise.
        """
        if self.knows_objects:
            return False
        self._unknown.append(seen)
        self._expecting.set()
        return True

    def refresh(self) -> None:
        """Call ``seen`` for what the cache shows by now. Does not block."""
        shared = self._informer._shared
        if self._unknown and self.knows_objects:
            known, self._unknown = self._unknown, []
            for seen in known:
                seen()
        if shared is not None and shared.gone:
            self._prove(shared)
        if shared is None or shared.gone or self._went_back(shared):
            self._all_seen()
            return
        while self._by_version and _reached(shared, self._by_version[0][2].version):
            self._forget(heapq.heappop(self._by_version)[2])
        if shown := [write for write in self._deletes if _shows(shared, write)]:
            self._deletes = [write for write in self._deletes if not _shows(shared, write)]
            for write in shown:
                write.seen()

    async def follow(self) -> Never:
        """Call :meth:`refresh` whenever the cache has changed, until cancelled."""
        while True:
            while not len(self):
                self._expecting = trio.Event()
                await self._expecting.wait()
            shared = self._informer._shared
            progress = None if shared is None else shared.progress
            self.refresh()
            if progress is not None and len(self):
                await progress.wait()

    def _expect(self, write: _Write, shared: SharedInformer) -> bool:
        order = version_order(write.version)
        if shared.gone:  # that may be older than the write
            shared.prove(write.proof, read=bool(write.uid))
        if order is None or _reached(shared, write.version):
            return False
        self._count += 1
        self._uids[write.uid] = self._uids.get(write.uid, 0) + 1
        heapq.heappush(self._by_version, (order, self._count, write))
        self._expecting.set()
        return True

    def _prove(self, shared: SharedInformer) -> None:
        """Record that the resource was served when the newest of the writes was made."""
        newest = max((write for _, _, write in self._by_version), key=lambda write: write.proof.time, default=None)
        if newest is not None:
            shared.prove(newest.proof, read=bool(newest.uid))

    def _comes(self, shared: SharedInformer, obj: Unstructured) -> bool:
        """Return whether the informer receives this object, or the event that it has left the selection."""
        key = shared.key
        if key.namespace is not None and obj.namespace != key.namespace:
            return False
        if key.shard is not None and not key.shard.matches(obj):
            return False
        selected = key.label_selector.matches(obj.labels) and may_select(key.field_selector, obj)
        if selected or obj.uid in self._uids:
            return True
        known = shared.snapshot.get(obj.key)
        return known is not None and known.uid == obj.uid

    def _went_back(self, shared: SharedInformer) -> bool:
        before, self._newest = self._newest, shared.resource_version
        return before != "" and is_older(self._newest, before)

    def _all_seen(self) -> None:
        writes, deletes = [write for _, _, write in self._by_version], self._deletes
        self._by_version.clear()
        self._deletes = []
        self._uids.clear()
        for seen in [write.seen for write in writes] + [delete.seen for delete in deletes]:
            seen()

    def _forget(self, write: _Write) -> None:
        left = self._uids[write.uid] - 1
        if left:
            self._uids[write.uid] = left
        else:
            del self._uids[write.uid]
        write.seen()


def may_select(selector: FieldSelector, obj: Unstructured) -> bool:
    """Return whether a server may select an object by its fields.

    A field that the object does not have counts as "", "false" or "0", as that depends on its type. Of a few built-in
    resources, the name of a field in selectors is not that in the object.
    """
    return all(_may_meet(requirement, obj) for requirement in selector.requirements)


def _may_meet(requirement: FieldRequirement, obj: Unstructured) -> bool:
    field = requirement.field
    first, *path = field.split(".")
    value: object = obj.get(first)
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if field in _RENAMED_FIELDS or isinstance(value, Mapping | list | tuple):
        return True
    values = _ABSENT if value is None else (printed(value),)
    return any(requirement.matches({field: each}) for each in values)


def _reached(shared: SharedInformer, version: str) -> bool:
    seen = shared.resource_version
    return shared.gone or (seen != "" and not is_older(seen, version))


def _shows(shared: SharedInformer, delete: PendingDelete) -> bool:
    return _reached(shared, delete.version) and not _has(shared.snapshot.get(delete.key), delete)


def _has(known: Unstructured | None, delete: PendingDelete) -> bool:
    """Return whether the cache still has the object that was deleted."""
    return known is not None and known.uid == delete.uid
