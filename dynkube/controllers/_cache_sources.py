"""The informers of a running controller, which add keys to its queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import trio

from dynkube._client import Client
from dynkube._guard import attempt
from dynkube.controllers._watches import (
    CacheMapper,
    KeyLike,
    Mapper,
    ObjectKey,
    ReconciledObjects,
    Watch,
    deletion_begins,
)
from dynkube.errors import InvalidInput
from dynkube.informers import Informer, Registration, owner_uids
from dynkube.informers._pending_writes import PendingWrites
from dynkube.informers._views.handlers import last_seen
from dynkube.meta import Unstructured
from dynkube.meta._object import Key
from dynkube.meta._versions import is_older, version_order

OWNERS = "dynkube.controllers/owners"
"""The index of objects by the UIDs of their owners, for watches that map objects to their owner."""

WRONG_SCOPE = "WrongScope"
"""The reason of an informer that follows a cluster-scoped resource in a namespace."""


@dataclass(slots=True, eq=False)
class CacheSource:
    """One watch, with its informer.

    Attributes:
        watch: the resource, and how its objects are mapped to keys.
        informer: its cache.
        pending: the controller's writes that this cache does not show yet.
        reconciled: whether these are the objects that are reconciled, rather than others.
        cluster: the name of the cluster; ``""`` if there is only one.
        registration: the handler that adds the keys; ``None`` before it is added.
    """

    watch: Watch
    informer: Informer
    pending: PendingWrites
    reconciled: bool
    cluster: str = ""
    registration: Registration | None = None

    @classmethod
    def of(
        cls,
        client: Client,
        watch: Watch,
        namespace: str | None,
        *,
        reconciled: bool,
        cluster: str = "",
        cluster_scoped: bool = False,
    ) -> CacheSource:
        """Create the informer of a watch, for one namespace or all; it is not entered.

        With ``cluster_scoped`` objects in namespaces are hidden, as those of a CRD that is replaced by one of another
        scope: the controller is limited to some namespaces.
        """
        informer = client.informer(
            watch.resource,
            namespace=namespace,
            label_selector=watch.label_selector,
            field_selector=watch.field_selector,
            shard=watch.shard,
            filter=_is_cluster_scoped if cluster_scoped else None,
            metadata_only=watch.metadata_only,
            indexes={**watch.indexes, **({OWNERS: owner_uids} if watch.maps_to_owner else {})},
        )
        return cls(watch, informer, PendingWrites(informer), reconciled, cluster)

    @property
    def synced(self) -> bool:
        """Whether the cache has the objects that exist now, but for the lag of its watch; on any thread.

        Not while a resource is listed that has come back. One that is not served counts as empty.
        """
        shared = self.informer._shared
        return shared is None or shared.gone or (shared.content_known and not shared.absent)

    async def wait_synced(self) -> None:
        """Wait until the cache is :attr:`synced`, or its informer is closed."""
        while not self.synced:
            shared = self.informer._shared
            assert shared is not None, "a closed informer counts as synced"
            await shared.progress.wait()

    @property
    def wrong_scope(self) -> bool:
        """Whether the informer is of a namespace, and the resource is known to be cluster-scoped."""
        return self.informer.state.reason == WRONG_SCOPE

    async def wait_wrong_scope(self) -> None:
        """Wait until the resource is known to be cluster-scoped, although the informer is of a namespace."""
        while not self.wrong_scope:
            shared = self.informer._shared
            if shared is None:
                await trio.sleep_forever()
            await shared.progress.wait()

    @property
    def collection(self) -> str:
        """What the cache is of, as text: the same in all processes that run the same controller.

        Without version, as the versions of a resource have the same resourceVersions. ``""`` if the informer is closed.
        """
        if self.informer._shared is None:
            return ""
        key = self.informer._shared.key
        parameters = {
            "namespace": key.namespace,
            "labelSelector": str(key.label_selector),
            "fieldSelector": str(key.field_selector),
            "shard": key.shard and f"{key.shard.index}/{key.shard.count}",
        }
        given = "&".join(f"{name}={value}" for name, value in parameters.items() if value)
        gvr = key.gvr
        name = f"{gvr.resource}.{gvr.group}" if gvr.group else gvr.resource
        name = f"{self.cluster}/{name}" if self.cluster else name
        return f"{name}?{given}" if given else name

    def has_reached(self, version: str) -> bool:
        """Return whether the cache has reached a resourceVersion, or the resource is not served."""
        shared = self.informer._shared
        if shared is None or shared.gone:
            return True
        return shared.resource_version != "" and not is_older(shared.resource_version, version)

    async def wait_reached(self, version: str) -> None:
        """Wait until the cache :meth:`has_reached` a resourceVersion, or its informer is closed."""
        while not self.has_reached(version):
            shared = self.informer._shared
            assert shared is not None, "a closed informer counts as one that has reached it"
            await shared.progress.wait()

    def cached(self, key: Key) -> Unstructured | None:
        """Return the object of a namespace and name, as the cache has it, or ``None``."""
        return self.informer._snapshot.get(key)

    def has_index(self, index: str) -> bool:
        """Return whether the cache has an index."""
        return index in self.watch.indexes or (index == OWNERS and self.watch.maps_to_owner)

    def is_complete(self, namespace: str) -> bool:
        """Return whether the cache has all objects of a namespace, as it has no selector."""
        watch = self.watch
        everything = not watch.label_selector and not watch.field_selector and watch.shard is None
        return everything and self.informer.namespace in (None, namespace)

    def has_passed(self, obj: Unstructured) -> bool:
        """Return whether the cache has reached the resourceVersion of an object, and does not have the object."""
        shared = self.informer._shared
        if shared is None or shared.gone or not self.synced:
            return False
        reached = shared.resource_version  # first, as a thread reads the objects later than this
        if version_order(reached) is None or version_order(obj.resource_version) is None:
            return False
        known = shared.snapshot.get(obj.key)
        return (known is None or known.uid != obj.uid) and not is_older(reached, obj.resource_version)

    def has_lost(self, key: ObjectKey) -> bool:
        """Return whether an object has left the cache, and the handler was not called with that yet."""
        if self.registration is None or self.informer._snapshot.get(key) is not None:
            return False
        return last_seen(self.registration, key) is not None

    def keys(
        self,
        old: Unstructured | None,
        new: Unstructured | None,
        primary: ReconciledObjects,
        failed: Callable[[str, Unstructured, Exception], None],
        calling: Callable[[str], AbstractContextManager[None]],
    ) -> Iterator[ObjectKey]:
        """Yield the keys to reconcile after a change of an object, each once.

        There may be very many, so take them in slices. The predicate and the mapper are called before the first one.

        Args:
            old: the object before; ``None`` if it was added.
            new: the object after; ``None`` if it was deleted.
            primary: the reconciled objects.
            failed: called with ``"mapper"`` or ``"predicate"``, the object and the exception, if that raises.
            calling: called with the same names; what it returns is entered while that is called.
        """
        obj = new if new is not None else old
        assert obj is not None
        predicate, to = self.watch.predicate, self.watch.to
        if predicate is not None and not deletion_begins(old, new):
            # If it raises, the change counts: a reconcile too many does no harm, one too few does.
            with calling("predicate"):
                counts = attempt(lambda: bool(predicate(old, new)), True, lambda exc: failed("predicate", obj, exc))
            if not counts:
                return
        if self.reconciled:
            yield ObjectKey(*obj.key)
            return
        nothing: list[KeyLike] = []
        mapped: list[KeyLike] = []
        for each in (old, new):
            if each is not None:
                map_it = partial(_mapped, to, each, primary)
                with calling("mapper"):
                    mapped += attempt(map_it, nothing, lambda exc: failed("mapper", obj, exc))
        found: set[ObjectKey] = set()
        for value in mapped:
            try:
                key = ObjectKey.of(value)
            except InvalidInput as exc:
                failed("mapper", obj, exc)
                continue
            if key not in found:
                found.add(key)
                yield key


def _is_cluster_scoped(obj: Unstructured) -> bool:
    return not obj.namespace


def _mapped(to: Mapper | CacheMapper, obj: Unstructured, primary: ReconciledObjects) -> list[KeyLike]:
    return [*(to.keys(obj, primary) if isinstance(to, CacheMapper) else to(obj))]
