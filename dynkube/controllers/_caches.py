"""What a controller reads: the objects of each resource, from all informers that have them.

Several informers may have the objects of one resource: one of ``owns`` and one of a ``Watch``, with other selectors,
other namespaces or only metadata. They overlap, and one may lag behind another. :class:`ResourceReader` shows their
objects as one cache would, each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dynkube.controllers._cache_sources import OWNERS, CacheSource
from dynkube.controllers._results import StaleCache
from dynkube.discovery import ResourceLike
from dynkube.discovery._lookup import Lookup
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers import Phase
from dynkube.informers._pending_writes import PendingWrites
from dynkube.meta import GVR, Unstructured
from dynkube.meta._object import Key
from dynkube.meta._versions import is_older


class ResourceReader:
    """The cached objects of one resource, each once.

    Of an object that several informers have, a whole one is preferred to one with only metadata, one in the version of
    the informer that was declared first to those in other versions, and then the newest. So a reconcile sees the change
    that it was called for, whichever informer received that.

    Args:
        sources: the informers that have objects of the resource, the preferred ones first.
    """

    def __init__(self, sources: Sequence[CacheSource]) -> None:
        versions = [*dict.fromkeys(source.informer.gvr for source in sources)]
        self._sources = sorted(sources, key=lambda each: (each.watch.metadata_only, versions.index(each.informer.gvr)))

    @property
    def synced(self) -> bool:
        """Whether all informers have listed the objects, or know that the resource is not served."""
        return all(source.synced for source in self._sources)

    def check_synced(self) -> None:
        """Raise StaleCache unless the cache is :attr:`synced`."""
        for source in self._sources:
            if not source.synced:
                raise StaleCache(
                    f"{source.watch.resource} has become available while this reconcile was running, and is being "
                    "listed: the key is reconciled again after that"
                )

    def get(self, key: Key) -> Unstructured | None:
        """Return one object, or ``None``.

        Raises:
            InvalidInput: the name in the key cannot be one.
            ClosedError: an informer is closed.
        """
        found = _newest(self._open(), key)
        return None if found is None or self._deleted(*found) else found[1]

    def list(self) -> Iterable[Unstructured]:
        """Return all objects.

        Raises:
            ClosedError: an informer is closed.
        """
        sources = self._open()
        if len(sources) == 1:
            return sources[0].informer.list()
        found: dict[Key, tuple[CacheSource, Unstructured]] = {}
        for source in sources:
            for obj in source.informer.list():
                before = found.get(obj.key)
                if before is None or _is_preferred(source, obj, *before):
                    found[obj.key] = source, obj
        return [obj for source, obj in found.values() if not self._deleted(source, obj)]

    def by_index(self, index: str, value: str) -> Iterable[Unstructured]:
        """Return the objects with a value in an index, of those informers that have this index.

        Raises:
            InvalidInput: there is no such index.
            ClosedError: an informer is closed.
        """
        sources = self._open()
        indexed = [source for source in sources if source.has_index(index)] or sources[:1]
        if len(sources) == 1:
            return sources[0].informer.by_index(index, value)
        return [
            obj
            for source in indexed
            for obj in source.informer.by_index(index, value)
            if self._shows(source, obj, indexed)
        ]

    def _shows(self, source: CacheSource, obj: Unstructured, indexed: Sequence[CacheSource]) -> bool:
        """Return whether an object that was found in a source is the one to show.

        If another source has a newer one, that may have another value in the index.
        """
        newest = _newest(indexed, obj.key)
        return newest is not None and newest[0] is source and not self._deleted(source, obj)

    def _deleted(self, source: CacheSource, obj: Unstructured) -> bool:
        """Return whether another informer knows that an object was deleted, and ``source`` lags behind.

        Only one that has all objects of the namespace knows that; with a selector, it may lack an object that exists.
        """
        return any(
            other is not source and other.is_complete(obj.namespace) and other.has_passed(obj)
            for other in self._sources
        )

    def _open(self) -> Sequence[CacheSource]:
        """Return the sources, unless an informer is closed: an object that it does not show need not be gone."""
        for source in self._sources:
            if source.informer.state.phase is Phase.STOPPED:
                raise ClosedError("the informers of this controller are closed, as its client is")
        return self._sources


def _newest(sources: Iterable[CacheSource], key: Key) -> tuple[CacheSource, Unstructured] | None:
    """Return the source that has the object to show, and the object."""
    found: tuple[CacheSource, Unstructured] | None = None
    for source in sources:
        if source.informer.namespace not in (None, key[0]):
            continue
        obj = source.informer.get(key[1], namespace=key[0])
        if obj is not None and (found is None or _is_preferred(source, obj, *found)):
            found = source, obj
    return found


def _is_preferred(source: CacheSource, obj: Unstructured, other: CacheSource, other_obj: Unstructured) -> bool:
    """Return whether an object is shown rather than the same one of another source, which comes first."""
    same_form = (source.watch.metadata_only, source.informer.gvr) == (other.watch.metadata_only, other.informer.gvr)
    return same_form and is_older(other_obj.resource_version, obj.resource_version)


class Caches:
    """The caches of a controller, by resource.

    Attributes:
        sources: the watches whose informers are open; change them by :meth:`add` and :meth:`remove`.
        primary: the reconciled objects.
    """

    def __init__(self) -> None:
        self.sources: list[CacheSource] = []
        self.primary: ResourceReader = ResourceReader(())

    def add(self, source: CacheSource) -> None:
        """Add a watch whose informer is open; those of whole objects come first."""
        self._replace([*self.sources, source])

    def remove(self, source: CacheSource) -> None:
        """Remove a watch."""
        self._replace([each for each in self.sources if each is not source])

    def _replace(self, sources: Iterable[CacheSource]) -> None:
        self.sources = sorted(sources, key=lambda each: each.watch.metadata_only)
        self.primary = ResourceReader([each for each in self.sources if each.reconciled])

    @property
    def synced(self) -> bool:
        """Whether all informers have listed their objects, or know that their resource is not served."""
        return all(source.synced for source in self.sources)

    def is_known(self, key: Key) -> bool:
        """Return whether it is known whether a reconciled object exists, or was deleted."""
        return all(
            source.pending.knows_objects or source.informer.namespace not in (None, key[0])
            for source in self.sources
            if source.reconciled
        )

    def of(self, resource: ResourceLike | None) -> ResourceReader:
        """Return the cached objects of a resource.

        Args:
            resource: a name as in the controller's ``owns`` and ``watches``, its plural, or its GVR; ``None`` for the
                reconciled resource, and only the objects that are reconciled.

        Raises:
            InvalidInput: the controller does not watch such a resource.
        """
        if resource is None:
            return self.primary
        named = {source.informer.gvr for source in self.sources if source.watch.resource == resource}
        if named:
            return ResourceReader([source for source in self.sources if source.informer.gvr in named])
        lookup = Lookup.of(resource)
        found = [source for source in self.sources if _named(lookup, source.informer.gvr)]
        if not found:
            watched = ", ".join(dict.fromkeys(str(source.watch.resource) for source in self.sources))
            raise InvalidInput(
                f"this controller does not watch {resource}, so there is no cache of it to read (watched: {watched}): "
                "add it to owns= or watches="
            )
        return ResourceReader(found)

    def of_version(self, gvr: GVR) -> ResourceReader:
        """Return the cached objects of a resource in this version; none if it is not watched."""
        return ResourceReader([source for source in self.sources if source.informer.gvr == gvr])

    def following(self, gvr: GVR) -> Iterator[PendingWrites]:
        """Iterate over the pending writes of the informers of a resource, in any of its versions."""
        for source in self.sources_of(gvr):
            yield source.pending

    def check_synced(self, gvr: GVR) -> None:
        """Raise StaleCache while a resource, in any of its versions, is being listed again."""
        ResourceReader([*self.sources_of(gvr)]).check_synced()

    def sources_of(self, gvr: GVR) -> Iterator[CacheSource]:
        """Iterate over the watches of a resource, in any of its versions."""
        for source in self.sources:
            followed = source.informer.gvr
            if followed is not None and (followed.group, followed.resource) == (gvr.group, gvr.resource):
                yield source

    def without(self, gvr: GVR) -> bool:
        """Return whether all informers of a resource know that it is not served, so that no write will be cached."""
        return all(pending.resource_absent for pending in self.following(gvr))

    def pending(self) -> Iterator[PendingWrites]:
        """Iterate over the pending writes of all informers."""
        for source in self.sources:
            yield source.pending

    def owned_by(self, uid: str) -> Iterator[Unstructured]:
        """Iterate over the cached objects that have an owner with this UID, of all resources mapped to their owner.

        Raises:
            StaleCache: such a resource is being listed again.
        """
        owning = [gvr for source in self.sources if source.watch.maps_to_owner and (gvr := source.informer.gvr)]
        for gvr in {(each.group, each.resource): each for each in owning}.values():
            reader = ResourceReader([*self.sources_of(gvr)])
            reader.check_synced()
            yield from reader.by_index(OWNERS, uid)


def _named(lookup: Lookup, gvr: GVR | None) -> bool:
    return (
        gvr is not None
        and lookup.by != "kind"
        and lookup.name == gvr.resource
        and lookup.group in (None, gvr.group)
        and (lookup.version in (None, "", gvr.version) or not gvr.version)
    )
