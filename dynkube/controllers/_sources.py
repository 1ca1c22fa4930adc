"""The informers of a running controller: they add keys to its queue, and its reconciles read from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from dynkube._client import Client
from dynkube._guard import attempt
from dynkube.controllers._watches import CacheMapper, Mapper, ObjectKey, Watch, deletion_begins
from dynkube.discovery import ResourceLike
from dynkube.discovery._lookup import Lookup
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers import Informer, Phase, Registration, owner_uids
from dynkube.informers._pending_writes import PendingWrites
from dynkube.informers._views.handlers import last_seen
from dynkube.meta import GVR, Unstructured

OWNERS = "dynkube.controllers/owners"
"""The index of objects by the UIDs of their owners, for watches that map objects to their owner."""


class Objects:
    """The cached objects of one resource: of one informer, or of several for as many namespaces."""

    def __init__(self, informers: Sequence[Informer]) -> None:
        self._informers = informers

    def get(self, key: tuple[str, str]) -> Unstructured | None:
        """Return one object, or ``None``."""
        for informer in self._open():
            if informer.namespace in (None, key[0]) and (obj := informer.get(key[1], namespace=key[0])) is not None:
                return obj
        return None

    def list(self) -> Iterator[Unstructured]:
        """Iterate over all objects."""
        for informer in self._open():
            yield from informer.list()

    def by_index(self, index: str, value: str) -> Iterator[Unstructured]:
        """Iterate over the objects with a value in an index.

        Raises:
            InvalidInput: there is no such index.
        """
        for informer in self._open():
            yield from informer.by_index(index, value)

    def _open(self) -> Sequence[Informer]:
        """Return the informers, unless one is closed: an object that it does not show need not be gone."""
        for informer in self._informers:
            if informer.state.phase is Phase.STOPPED:
                raise ClosedError("the informers of this controller are closed, as its client is")
        return self._informers


@dataclass(slots=True, eq=False)
class Source:
    """One watch, with its informer.

    Attributes:
        watch: the resource, and how its objects are mapped to keys.
        informer: its cache.
        pending: the controller's writes that this cache does not show yet.
        reconciled: whether these are the objects that are reconciled, rather than others.
        registration: the handler that adds the keys; ``None`` before it is added.
    """

    watch: Watch
    informer: Informer
    pending: PendingWrites
    reconciled: bool
    registration: Registration | None = None

    @classmethod
    def of(cls, client: Client, watch: Watch, namespace: str | None, *, reconciled: bool) -> Source:
        """Create the informer of a watch; it is not entered."""
        informer = client.informer(
            watch.resource,
            namespace=watch.namespace if watch.namespace is not None else namespace,
            label_selector=watch.label_selector,
            field_selector=watch.field_selector,
            shard=watch.shard,
            metadata_only=watch.metadata_only,
            indexes={**watch.indexes, **({OWNERS: owner_uids} if watch.maps_to_owner else {})},
        )
        return cls(watch, informer, PendingWrites(informer), reconciled)

    def has_lost(self, key: ObjectKey) -> bool:
        """Return whether an object has left the cache, and the handler was not called with that yet."""
        if self.registration is None or self.informer._snapshot.get(key) is not None:
            return False
        return last_seen(self.registration, key) is not None

    def keys(
        self,
        old: Unstructured | None,
        new: Unstructured | None,
        primary: Objects,
        failed: Callable[[str, Unstructured, Exception], None],
    ) -> Iterable[ObjectKey]:
        """Return the keys to reconcile after a change of an object.

        Args:
            old: the object before; ``None`` if it was added.
            new: the object after; ``None`` if it was deleted.
            primary: the reconciled objects.
            failed: called with ``"mapper"`` or ``"predicate"``, the object and the exception, if that raises.
        """
        obj = new if new is not None else old
        assert obj is not None
        predicate, to = self.watch.predicate, self.watch.to
        if predicate is not None and not deletion_begins(old, new):
            # If it raises, the change counts: a reconcile too many does no harm, one too few does.
            counts = attempt(lambda: bool(predicate(old, new)), True, lambda exc: failed("predicate", obj, exc))
            if not counts:
                return ()
        if self.reconciled:
            return (ObjectKey(*obj.key),)
        nothing: list[ObjectKey] = []
        found: dict[ObjectKey, None] = {}
        for each in (old, new):
            if each is not None:
                map_it = partial(_mapped, to, each, primary)
                found |= dict.fromkeys(attempt(map_it, nothing, lambda exc: failed("mapper", obj, exc)))
        return found


def _mapped(to: Mapper | CacheMapper, obj: Unstructured, primary: Objects) -> list[ObjectKey]:
    keys = to.keys(obj, primary) if isinstance(to, CacheMapper) else to(obj)
    return [ObjectKey.of(key) for key in keys]


class Caches:
    """The caches of a controller, by resource.

    Attributes:
        sources: the watches whose informers are open; append them by :meth:`add`.
        primary: the reconciled objects.
    """

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.primary: Objects = Objects(())

    def add(self, source: Source) -> None:
        """Add a watch whose informer is open; those of whole objects come first."""
        self.sources.append(source)
        self.sources.sort(key=lambda each: each.watch.metadata_only)
        self.primary = Objects([each.informer for each in self.sources if each.reconciled])

    def is_known(self, key: tuple[str, str]) -> bool:
        """Return whether it is known whether a reconciled object exists, or was deleted."""
        return all(
            source.pending.knows_objects or source.informer.namespace not in (None, key[0])
            for source in self.sources
            if source.reconciled
        )

    def of(self, resource: ResourceLike | None) -> Objects:
        """Return the cached objects of a resource.

        Args:
            resource: a name as in the controller's ``owns`` and ``watches``, its plural, or its GVR; ``None`` for the
                reconciled resource.

        Raises:
            InvalidInput: the controller does not watch such a resource.
        """
        if resource is None:
            return self.primary
        found = [source.informer for source in self.sources if source.watch.resource == resource]
        if not found:
            lookup = Lookup.of(resource)
            found = [source.informer for source in self.sources if _named(lookup, source.informer.gvr)]
        if not found:
            watched = ", ".join(dict.fromkeys(str(source.watch.resource) for source in self.sources))
            raise InvalidInput(
                f"this controller does not watch {resource}, so there is no cache of it to read (watched: {watched}): "
                "add it to owns= or watches="
            )
        return Objects(found)

    def cached(self, gvr: GVR, key: tuple[str, str]) -> Unstructured | None:
        """Return one object of a resource in this version; ``None`` if it is not cached or not watched."""
        found = [source.informer for source in self.sources if source.informer.gvr == gvr]
        return Objects(found).get(key)

    def following(self, gvr: GVR) -> Iterator[PendingWrites]:
        """Iterate over the pending writes of the informers of a resource, in any of its versions."""
        for source in self.sources:
            followed = source.informer.gvr
            if followed is not None and (followed.group, followed.resource) == (gvr.group, gvr.resource):
                yield source.pending

    def without(self, gvr: GVR) -> bool:
        """Return whether all informers of a resource know that it is not served, so that no write will be cached."""
        return all(pending.resource_absent for pending in self.following(gvr))

    def pending(self) -> Iterator[PendingWrites]:
        """Iterate over the pending writes of all informers."""
        for source in self.sources:
            yield source.pending

    def owned_by(self, uid: str) -> Iterator[Unstructured]:
        """Iterate over the cached objects that have an owner with this UID, of all resources mapped to their owner."""
        seen: set[str] = set()
        for source in self.sources:
            if not source.watch.maps_to_owner:
                continue
            for obj in source.informer.by_index(OWNERS, uid):
                if obj.uid not in seen:
                    seen.add(obj.uid)
                    yield obj


def _named(lookup: Lookup, gvr: GVR | None) -> bool:
    return (
        gvr is not None
        and lookup.by != "kind"
        and lookup.name == gvr.resource
        and lookup.group in (None, gvr.group)
        and lookup.version in (None, "", gvr.version)
    )
