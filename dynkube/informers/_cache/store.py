"""The objects of a cache as a persistent map, with one writer and any readers.

A :class:`Snapshot` is immutable. Publishing the next version is one assignment, so readers on any thread have a
consistent snapshot for as long as they keep it, without a lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from dynkube.informers._cache.persistent_map import MapEditor, PersistentMap, empty
from dynkube.meta import Unstructured
from dynkube.meta._object import Key

_Names: TypeAlias = PersistentMap[str, Unstructured]

_NO_NAMES: Final[_Names] = empty()


def same_state(one: Unstructured, other: Unstructured) -> bool:
    """Return whether two states of a key are the same, by UID and resourceVersion.

    Objects without a resourceVersion (those of metrics.k8s.io) are compared by their bytes.
    """
    if one.uid != other.uid or one.resource_version != other.resource_version:
        return False
    return one.resource_version != "" or one.json == other.json


class Snapshot:
    """All objects of one resource in one version of the cache.

    Stored by namespace, then by name. So listing a namespace needs no index, and no key tuple per object is stored.
    """

    __slots__ = ("_count", "_namespaces")

    def __init__(self, namespaces: PersistentMap[str, _Names], count: int) -> None:
        self._namespaces = namespaces
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Unstructured]:
        for names in self._namespaces.values():
            yield from names.values()

    def get(self, key: Key) -> Unstructured | None:
        """Return the object with that key; ``None`` if there is none."""
        return (self._namespaces.get(key[0]) or _NO_NAMES).get(key[1])

    def in_namespace(self, namespace: str) -> Iterator[Unstructured]:
        """Iterate over the objects of a namespace; ``""`` for cluster-scoped objects."""
        return (self._namespaces.get(namespace) or _NO_NAMES).values()

    def edit(self) -> SnapshotEditor:
        """Start to edit the next version."""
        return SnapshotEditor(self._namespaces, self._count)


EMPTY: Final = Snapshot(empty(), 0)


class SnapshotEditor:
    """Collects changes to a snapshot; cheap however large the snapshot is."""

    __slots__ = ("_before", "_count", "_edited", "_namespaces")

    def __init__(self, namespaces: PersistentMap[str, _Names], count: int) -> None:
        self._namespaces = namespaces
        self._edited: dict[str, MapEditor[str, Unstructured]] = {}
        self._before: dict[str, _Names | None] = {}  # the original maps of the edited namespaces
        self._count = count

    def put(self, key: Key, obj: Unstructured) -> None:
        """Add or replace one object."""
        self._names(key[0]).put(key[1], obj)

    def remove(self, key: Key) -> None:
        """Remove one object, which must exist."""
        self._names(key[0]).remove(key[1])

    def get(self, key: Key) -> Unstructured | None:
        """Return the object with that key in the edited version; ``None`` if none."""
        return self._names(key[0]).get(key[1])

    def done(self) -> Snapshot:
        """Return the next version."""
        namespaces = self._namespaces.edit()
        count = self._count
        for namespace, names in self._edited.items():
            before = self._before[namespace]
            count += len(names) - len(before or ())
            if names:
                namespaces.put(namespace, names.done())
            elif before is not None:
                namespaces.remove(namespace)
        return Snapshot(namespaces.done(), count)

    def _names(self, namespace: str) -> MapEditor[str, Unstructured]:
        names = self._edited.get(namespace)
        if names is None:
            before = self._before[namespace] = self._namespaces.get(namespace)
            names = self._edited[namespace] = (before or _NO_NAMES).edit()
        return names
