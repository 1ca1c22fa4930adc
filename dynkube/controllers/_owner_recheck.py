"""Rechecks that an owner exists, before what it owns is created again.

A cache may show an owner for some time after it was deleted. What is created with a reference to it is deleted by the
garbage collector within milliseconds, which makes its key reconcile, and so on, until the cache has caught up. So after
the deletion of an owned object, the owner is read from the server before another one is created:
kube-controller-manager rechecks owners before it adopts, in the same way.
"""

from __future__ import annotations

from contextlib import suppress

from dynkube._client import Client
from dynkube.controllers._own_writes import OwnWrites
from dynkube.controllers._results import StaleCache
from dynkube.controllers._watches import ObjectKey, ReconciledObjects
from dynkube.discovery import APIResource
from dynkube.errors import ClosedError, InvalidInput, NotFound
from dynkube.errors._evidence import proves_deletion
from dynkube.informers._dependents import owner_references
from dynkube.meta import Unstructured


class OwnerRecheck:
    """The keys of one controller whose object has to be read from the server before it owns another one.

    Args:
        client: reads the owners.
        writes: lets a key wait until the cache shows that its object was deleted.
    """

    def __init__(self, client: Client, writes: OwnWrites) -> None:
        self._client = client
        self._writes = writes
        self._due: set[ObjectKey] = set()

    def owned_deleted(self, obj: Unstructured, reconciled: ReconciledObjects) -> None:
        """Have the cached owners of an object that was deleted rechecked."""
        for reference in owner_references(obj):
            name = str(reference.get("name"))
            for namespace in dict.fromkeys((obj.namespace, "")):
                with suppress(InvalidInput, ClosedError):  # there is no such name; the controller ends
                    owner = reconciled.get((namespace, name))
                    if owner is not None and owner.uid == reference["uid"]:
                        self._due.add(ObjectKey(*owner.key))

    def is_due(self, key: ObjectKey) -> bool:
        """Return whether the object with this key has to be rechecked."""
        return key in self._due

    def forget(self, key: ObjectKey) -> None:
        """Forget a key, as its object is not cached any more."""
        self._due.discard(key)

    async def check(self, key: ObjectKey, resource: APIResource, owner: Unstructured) -> None:
        """Read the owner from the server.

        Args:
            key: the key that is reconciled; it waits until the cache shows what was found.
            resource: of the owner.
            owner: the owner in the cache.

        Raises:
            StaleCache: it was deleted, or its deletion has begun.
            DynkubeError: it could not be read.
        """
        self._due.discard(key)  # before the request: an owned object may be deleted meanwhile
        try:
            await self._check(key, resource, owner)
        except BaseException:
            self._due.add(key)
            raise

    async def _check(self, key: ObjectKey, resource: APIResource, owner: Unstructured) -> None:
        try:
            live = await self._client.resource(resource.gvr).get(owner.name, namespace=owner.namespace or None)
        except NotFound as exc:
            if not proves_deletion(exc):
                raise
            live = None
        if live is None or live.uid != owner.uid:
            self._writes.deleted(key, resource, owner)
            raise StaleCache(f"{owner!r} was deleted, which the cache does not show yet: it can own nothing") from None
        if live.deletion_timestamp is not None and owner.deletion_timestamp is None:
            self._writes.written(key, resource, live)
            raise StaleCache(
                f"{owner!r} is being deleted, which the cache does not show yet: it should own nothing new"
            )
