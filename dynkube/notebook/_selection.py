"""The objects of a source, in the order in which a live table shows them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter

from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key


class RowSelection:
    """The objects of an informer by namespace and name, kept up to date by its events.

    An event costs a binary search: inserting into a list of 50,000 keys moves a few hundred kilobytes, which takes some
    microseconds, and the list is never sorted as a whole.
    """

    __slots__ = ("_namespaces", "_objects", "_order")

    def __init__(self) -> None:
        self._objects: dict[Key, Unstructured] = {}
        self._order: list[Key] = []
        self._namespaces: Counter[str] = Counter()

    def fold(self, event: InformerEvent) -> None:
        """Apply an event."""
        match event:
            case Added(obj):
                self._add(obj)
            case Updated(_, obj):
                self._objects[obj.key] = obj
            case Deleted(obj):
                self._remove(obj.key)

    def window(self, limit: int) -> list[Unstructured]:
        """Return the first objects by namespace and name, at most ``limit``."""
        return [self._objects[key] for key in self._order[:limit]]

    def first(self, limit: int) -> RowSelection:
        """Return a selection of the first ``limit`` objects only."""
        some = RowSelection()
        for obj in self.window(limit):
            some.fold(Added(obj))
        return some

    def get(self, key: Key) -> Unstructured | None:
        """Return an object, or ``None``."""
        return self._objects.get(key)

    @property
    def namespaces(self) -> int:
        """The number of namespaces."""
        return len(self._namespaces)

    def __len__(self) -> int:
        return len(self._objects)

    def _add(self, obj: Unstructured) -> None:
        if obj.key not in self._objects:
            insort(self._order, obj.key)
            self._namespaces[obj.namespace] += 1
        self._objects[obj.key] = obj

    def _remove(self, key: Key) -> None:
        del self._objects[key]
        del self._order[bisect_left(self._order, key)]
        self._namespaces[key[0]] -= 1
        if not self._namespaces[key[0]]:
            del self._namespaces[key[0]]
