"""The objects of a cache in persistent maps, with one writer and any readers.

A :class:`Snapshot` is immutable. Publishing the next version is one assignment, so readers on any thread have a
consistent snapshot for as long as they keep it, without a lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from pyrsistent import pmap

from dynkube.informers._cache.persistent_map import MapEditor, PersistentMap, dropped, empty
from dynkube.informers._slices import batches
from dynkube.meta import Unstructured
from dynkube.meta._object import Key
from dynkube.meta._versions import is_older

if TYPE_CHECKING:
    from pyrsistent import PMap

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

    def __init__(self, namespaces: PMap[str, _Names], count: int) -> None:
        self._namespaces = namespaces
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Unstructured]:
        return chain.from_iterable(names.values() for names in self._namespaces.values())

    def get(self, key: Key) -> Unstructured | None:
        """Return the object with that key; ``None`` if there is none."""
        return (self._namespaces.get(key[0]) or _NO_NAMES).get(key[1])

    def in_namespace(self, namespace: str) -> Iterator[Unstructured]:
        """Iterate over the objects of a namespace; ``""`` for cluster-scoped objects."""
        return (self._namespaces.get(namespace) or _NO_NAMES).values()

    def with_namespace(self, namespace: str | None, other: Snapshot) -> Snapshot:
        """Return these objects, with those of ``namespace`` replaced by those of another snapshot."""
        name = namespace or ""
        before, names = self._namespaces.get(name), other._namespaces.get(name)
        namespaces = self._namespaces.discard(name) if names is None else self._namespaces.set(name, names)
        return Snapshot(namespaces, self._count + len(names or ()) - len(before or ()))

    def changes_since(self, before: Snapshot) -> Iterator[tuple[Key, Unstructured | None, Unstructured | None]]:
        """Iterate over the keys whose objects differ from another version, with the objects before and now.

        The time depends on the number of namespaces and of differences, if one of both was made from the other.
        """
        for namespace in {*before._namespaces, *self._namespaces}:
            old, new = before._namespaces.get(namespace, _NO_NAMES), self._namespaces.get(namespace, _NO_NAMES)
            for name, was, now in new.changes_since(old):
                yield (namespace, name), was, now

    def release(self) -> Iterator[None]:
        """Return an iterator that frees the objects in short steps, if only it still refers to them.

        Freeing a million objects at once blocks the event loop for 0.8 s.
        """
        return dropped(self._namespaces.values())

    def edit(self) -> SnapshotEditor:
        """Start to edit the next version."""
        return SnapshotEditor(self._namespaces, self._count)


EMPTY: Final = Snapshot(pmap(), 0)


class SnapshotEditor:
    """Collects changes to a snapshot; cheap however large the snapshot is."""

    __slots__ = ("_count", "_edited", "_namespaces")

    def __init__(self, namespaces: PMap[str, _Names], count: int) -> None:
        self._namespaces = namespaces  # with the changes that were prepared
        self._edited: dict[str, MapEditor[str, Unstructured]] = {}  # with those that were not
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

    def freeze(self) -> Iterator[None]:
        """Prepare :meth:`done` in short steps, so that the caller can yield between them.

        One step for ten thousand namespaces would block the event loop for 0.1 s, and so would rehashing them.
        """
        if not self._namespaces:
            self._namespaces = pmap(pre_size=len(self._edited))
        for some in batches(tuple(self._edited)):
            for namespace in some:
                yield from self._edited[namespace].freeze()
            self._prepare(some)
            yield

    def done(self) -> Snapshot:
        """Return the next version."""
        self._prepare(tuple(self._edited))
        return Snapshot(self._namespaces, self._count)

    def _prepare(self, edited: Iterable[str]) -> None:
        namespaces = self._namespaces.evolver()
        for namespace in edited:
            names, before = self._edited.pop(namespace), self._namespaces.get(namespace)
            self._count += len(names) - len(before or ())
            if not names.changed:
                continue
            if names:
                namespaces[namespace] = names.done()
            elif before is not None:
                namespaces.remove(namespace)
        self._namespaces = namespaces.persistent()

    def _names(self, namespace: str) -> MapEditor[str, Unstructured]:
        names = self._edited.get(namespace)
        if names is None:
            names = self._edited[namespace] = (self._namespaces.get(namespace) or _NO_NAMES).edit()
        return names


class ListedObjects:
    """The objects of a list while it is received, page by page or as the initial events of a watch.

    No step takes longer when there are many: a dict with a million objects blocks the event loop for 0.1 s each time it
    doubles.
    """

    __slots__ = ("_count", "_objects")

    def __init__(self) -> None:
        self._objects = EMPTY.edit()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, obj: Unstructured) -> None:
        """Add an object, unless there is a newer state of its key.

        A key occurs twice if the pages of a list have different versions, or if a server repeats an initial event. The
        newer version is kept also if the UIDs differ: an object that was created again has a later version than all
        states of the object before it. If versions cannot be compared, the last one is kept.
        """
        key = obj.key
        known = self._objects.get(key)
        if known is None:
            self._count += 1
        elif is_older(obj.resource_version, known.resource_version):
            return
        self._objects.put(key, obj)

    def remove(self, deleted: Unstructured) -> None:
        """Remove an object that was deleted during the list, unless it was created again."""
        key = deleted.key
        known = self._objects.get(key)
        if known is not None and not is_older(deleted.resource_version, known.resource_version):
            self._objects.remove(key)
            self._count -= 1

    def freeze(self) -> Iterator[None]:
        """Prepare :meth:`done` in short steps, so that the caller can yield between them."""
        return self._objects.freeze()

    def done(self) -> Snapshot:
        """Return the objects; none are added after that."""
        return self._objects.done()

    def release(self) -> Iterator[None]:
        """Return an iterator that frees in short steps what only this refers to, such as objects that have not changed.

        Only for objects that are not needed any more; their number stays known.
        """
        objects, self._objects = self._objects, EMPTY.edit()
        return objects.done().release()

    def __repr__(self) -> str:
        return f"<ListedObjects {self._count}>"
