"""Read your own writes: a key waits until the caches show what its reconciles have written.

It also waits while it is not known whether its object exists, as its resource is not served, and while a resource that
has come back is being listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Final, Never

import trio

from dynkube._client import Client
from dynkube.controllers._cache_sources import CacheSource
from dynkube.controllers._caches import Caches
from dynkube.controllers._handover import WrittenVersions
from dynkube.controllers._requeues import Echoes
from dynkube.controllers._watches import ObjectKey
from dynkube.controllers._work_queue import Cause, WorkQueue
from dynkube.discovery import APIResource
from dynkube.errors import DynkubeError, NoMatch, NotFound
from dynkube.errors._evidence import CONFIRMATION, proves_deletion
from dynkube.informers._pending_writes import PendingDelete, PendingWrites
from dynkube.meta import GVR, Unstructured
from dynkube.meta._object import Key

_VERIFY_INTERVAL: Final = CONFIRMATION.doubt / 3  # seconds between two looks for late deletions
_VERIFY_DELAY: Final = 20 * CONFIRMATION.doubt  # most seconds between two reads of the same late deletion
_BATCH: Final = 1000  # keys that are added to the queue without a checkpoint


class OwnWrites:
    """The writes of one controller that its caches do not show yet, and the keys that wait for them.

    Args:
        client: reads back what may have been written.
        caches: the caches of the controller.
        queue: keys are added to it when they need not wait any more.
        versions: the record of what was written, for the next leader.

    Attributes:
        echoes: what the caches will show of these writes.
    """

    def __init__(self, client: Client, caches: Caches, queue: WorkQueue[ObjectKey], versions: WrittenVersions) -> None:
        self._client = client
        self._caches = caches
        self._queue = queue
        self._versions = versions
        self._unseen: Counter[ObjectKey] = Counter()  # writes of a key that the caches do not show yet
        # By object, as a daemon may write the same one again and again while the server does not respond.
        self._unanswered: dict[ObjectKey, dict[tuple[GVR, Key], tuple[APIResource, Unstructured]]] = {}
        self._held: dict[ObjectKey, tuple[Cause, int, float]] = {}  # cause, priority, and since when
        self._deleters: dict[str, list[ObjectKey]] = {}  # by UID: the keys that wait for its deletion
        self._deleting = trio.Event()
        self._listing = trio.Event()  # set when a key waits for a list
        self.echoes: Echoes = Echoes()

    # ── recording ────────────────────────────────────────────────────────────────────────────

    def written(self, key: ObjectKey, resource: APIResource, obj: Unstructured) -> None:
        """Have the key wait until the caches show an object that was written."""
        for source in self._caches.sources_of(resource.gvr):
            self._record(source, obj, obj.resource_version)
            self.echoes.wrote(key, obj)
            if source.pending.expect(obj, partial(self._seen, key)):
                self._unseen[key] += 1

    def deleted(self, key: ObjectKey, resource: APIResource, obj: Unstructured, *, version: str = "") -> None:
        """Have the key wait until the caches do not show an object that was deleted.

        Args:
            key: the key that has deleted it.
            resource: of the object.
            obj: the object as last known.
            version: the resourceVersion in the response; ``""`` if it has none.
        """
        for source in self._caches.sources_of(resource.gvr):
            self._record(source, obj, version)
            pending = source.pending
            self.echoes.deleted(key, obj.uid)
            if pending.expect_deleted(obj, partial(self._deletion_seen, key, obj.uid)):
                self._unseen[key] += 1
                self._deleters.setdefault(obj.uid, []).append(key)
                self._deleting.set()

    def unanswered(self, key: ObjectKey, resource: APIResource, obj: Unstructured) -> None:
        """Have an object read from the server before the key is reconciled again, if a cache may show it.

        An object that no cache shows need not be read: who writes it may not even be allowed to.
        """
        if any(pending.may_show(obj) for pending in self._caches.following(resource.gvr)):
            self._unanswered.setdefault(key, {})[resource.gvr, obj.key] = resource, obj

    def vanished(self, key: ObjectKey, pending: PendingWrites) -> None:
        """Have the key wait until it is known whether its object, which is not cached any more, was deleted."""
        if pending.expect_objects(partial(self._seen, key)):
            self._unseen[key] += 1

    def _record(self, source: CacheSource, obj: Unstructured, version: str) -> None:
        if source.pending.receives(obj):
            self._versions.wrote(source.collection, version)

    def _deletion_seen(self, key: ObjectKey, uid: str) -> None:
        deleters = self._deleters[uid]
        deleters.remove(key)
        if not deleters:
            del self._deleters[uid]
        self._seen(key)

    def _seen(self, key: ObjectKey) -> None:
        self._unseen[key] -= 1
        if self._unseen[key] <= 0:
            del self._unseen[key]
            if (held := self._held.pop(key, None)) is not None:
                cause, priority, _ = held
                self._queue._add(key, cause, priority)

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    async def read_back(self, key: ObjectKey) -> None:
        """Read from the server what unanswered writes of the key may have stored or deleted.

        A request that still waits in the server may take effect later: that is not noticed.

        Raises:
            DynkubeError: a read failed; call it again.
        """
        while pending := self._unanswered.get(key):
            identity, write = next(iter(pending.items()))
            await self._read_back(key, *write)
            del pending[identity]
        self._unanswered.pop(key, None)

    async def _read_back(self, key: ObjectKey, resource: APIResource, obj: Unstructured) -> None:
        client = self._client.resource(resource.gvr)
        namespace = obj.namespace or None
        before = [known for source in self._caches.sources_of(resource.gvr) if (known := source.cached(obj.key))]
        try:
            if obj.name:
                self.written(key, resource, await client.get(obj.name, namespace=namespace))
            else:  # it has a name that the server has chosen
                listed = await client.list(namespace=namespace, limit=1)
                self._reached(key, resource, listed.resource_version)
        except NotFound as exc:
            if proves_deletion(exc):
                # Also what the caches showed before the read: what was applied has no UID.
                for each in {each.uid: each for each in (*before, obj)}.values():
                    self.deleted(key, resource, each)
            elif not self._caches.without(resource.gvr):
                raise
        except NoMatch:
            if not self._caches.without(resource.gvr):
                raise

    def _reached(self, key: ObjectKey, resource: APIResource, version: str) -> None:
        """Have the key wait until the caches have reached a resourceVersion."""
        for pending in self._caches.following(resource.gvr):
            if pending.expect_version(version, partial(self._seen, key)):
                self._unseen[key] += 1

    def hold(self, key: ObjectKey) -> bool:
        """Return whether the key has to wait; it is added to the queue when the caches show what it waits for.

        Called while the key is being processed.
        """
        if key in self._unseen:
            for pending in self._caches.pending():
                pending.refresh()
        if key not in self._unseen:
            if self._caches.synced:
                return False
            self._listing.set()
        self._held.setdefault(key, (self._queue._cause(key), self._queue.priority(key), trio.current_time()))
        return True

    async def follow_lists(self) -> Never:
        """Add the keys that wait for a list to the queue once all caches are synced, until cancelled."""
        while True:
            await self._listing.wait()
            for source in tuple(self._caches.sources):
                await source.wait_synced()
            if not self._caches.synced:  # one has gone and come back meanwhile
                continue
            waiting = [*islice((key for key in self._held if key not in self._unseen), _BATCH)]
            if not waiting:
                self._listing = trio.Event()
            for key in waiting:
                cause, priority, _ = self._held.pop(key)
                self._queue._add(key, cause, priority)

    def release(self, key: ObjectKey) -> None:
        """Let a key wait no longer, as it is not needed any more."""
        self._held.pop(key, None)
        self._unanswered.pop(key, None)
        self.echoes.forget(key)

    def waiting(self, now: float) -> Mapping[ObjectKey, float]:
        """Return the keys that wait, with the seconds since when; on any thread."""
        return {key: now - since for key, (*_, since) in tuple(self._held.items())}

    # ── deletions that are undone ────────────────────────────────────────────────────────────

    async def verify_deletions(self) -> Never:
        """Read deletions back that the caches are late to show, until cancelled.

        If etcd is restored from a backup that has the object, no cache will ever show its deletion. Does nothing while
        no deletion is pending.
        """
        due: dict[PendingDelete, float] = {}
        while True:
            while not self._deleters:
                self._deleting = trio.Event()
                await self._deleting.wait()
            await trio.sleep(_VERIFY_INTERVAL)
            late = [
                (source, delete)
                for source in self._caches.sources
                for delete in source.pending.overdue(CONFIRMATION.doubt)
            ]
            due = {delete: due.get(delete, 0.0) for _, delete in late}
            for source, delete in late:
                if due[delete] <= trio.current_time():
                    await self._verify_deletion(source, delete)
                    now = trio.current_time()
                    due[delete] = now + min(now - delete.since, _VERIFY_DELAY)

    async def _verify_deletion(self, source: CacheSource, delete: PendingDelete) -> None:
        """Read an object that was deleted. If it exists nevertheless, its keys wait no longer, and are reconciled."""
        namespace, name = delete.key
        gvr = source.informer.gvr
        if gvr is None:
            return
        with trio.move_on_after(CONFIRMATION.doubt):
            try:
                live = await self._client.resource(gvr).get(name, namespace=namespace or None)
            except DynkubeError:  # also NotFound: the cache still has to show that, however late
                return
            if live.uid == delete.uid:
                deleters = tuple(self._deleters.get(delete.uid, ()))
                source.pending.withdraw(delete)
                for key in deleters:
                    self._queue.add(key)
