"""The objects of a cache as a persistent map: one writer makes the next version, anyone reads this one.

A :class:`Snapshot` never changes. Publishing the next version is one assignment, so a reader on any
thread holds a consistent picture for as long as it likes, without a lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pyrsistent import pmap

from dynkube.informers._persistent import Evolver, evolve
from dynkube.meta import Key, Unstructured

if TYPE_CHECKING:
    from pyrsistent import PMap

_NO_NAMES: Final[PMap[str, Unstructured]] = pmap()


def same_state(one: Unstructured, other: Unstructured) -> bool:
    """Whether two states of a key are one: of objects without versions (those of metrics.k8s.io) the bytes say it."""
    if one.uid != other.uid or one.resource_version != other.resource_version:
        return False
    return one.resource_version != "" or one.json == other.json


class Snapshot:
    """All objects of one resource at one moment.

    Kept by namespace, then by name: a namespace is listed without an index, and no key tuple is kept per object.
    """

    __slots__ = ("_count", "_namespaces")

    def __init__(self, namespaces: PMap[str, PMap[str, Unstructured]], count: int) -> None:
        self._namespaces = namespaces
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Unstructured]:
        for names in self._namespaces.itervalues():
            yield from names.itervalues()

    def get(self, key: Key) -> Unstructured | None:
        """The object with that key, if any."""
        return self._namespaces.get(key[0], _NO_NAMES).get(key[1])

    def in_namespace(self, namespace: str) -> Iterator[Unstructured]:
        """The objects of one namespace; ``""`` is where cluster-scoped objects are."""
        return iter(self._namespaces.get(namespace, _NO_NAMES).itervalues())

    def edit(self) -> SnapshotEditor:
        """Start the next version."""
        return SnapshotEditor(self._namespaces, self._count)


EMPTY: Final = Snapshot(pmap(), 0)


class SnapshotEditor:
    """Collects changes to a snapshot; cheap however large the snapshot is."""

    __slots__ = ("_count", "_edited", "_namespaces")

    def __init__(self, namespaces: PMap[str, PMap[str, Unstructured]], count: int) -> None:
        self._namespaces = namespaces
        self._edited: dict[str, Evolver[str, Unstructured]] = {}
        self._count = count

    def put(self, key: Key, obj: Unstructured) -> None:
        """Add or replace one object."""
        self._names(key[0])[key[1]] = obj

    def remove(self, key: Key) -> None:
        """Take one object out; it must be there."""
        self._names(key[0]).remove(key[1])

    def get(self, key: Key) -> Unstructured | None:
        """The object with that key in the version being made."""
        names = self._edited.get(key[0])
        if names is None:
            return self._namespaces.get(key[0], _NO_NAMES).get(key[1])
        return names[key[1]] if key[1] in names else None  # noqa: SIM401  # an evolver has no get

    def done(self) -> Snapshot:
        """The next version."""
        namespaces = evolve(self._namespaces)
        count = self._count
        for namespace, names in self._edited.items():
            count += len(names) - len(self._namespaces.get(namespace, _NO_NAMES))
            if len(names):
                namespaces[namespace] = names.persistent()
            elif namespace in namespaces:
                namespaces.remove(namespace)
        return Snapshot(namespaces.persistent(), count)

    def _names(self, namespace: str) -> Evolver[str, Unstructured]:
        names = self._edited.get(namespace)
        if names is None:
            names = self._edited[namespace] = evolve(self._namespaces.get(namespace, _NO_NAMES))
        return names
