"""The first objects of a source, in the order in which a live table shows them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter

from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key


class RowSelection:
    """The first objects of an informer by namespace and name, kept up to date by its events; all are counted.

    Twice as many objects are kept as the table shows, so that deletions rarely make it incomplete. Keeping the order of
    all would move megabytes for each of a million objects that arrive in another order.

    Args:
        limit: the maximum number of rows.
    """

    __slots__ = ("_counts", "_last", "_limit", "_objects", "_order")

    def __init__(self, limit: int = 200) -> None:
        self._limit = limit
        self._objects: dict[Key, Unstructured] = {}
        self._order: list[Key] = []
        self._last: Key | None = None  # objects after this key were left out; None if all are here
        self._counts: Counter[str] = Counter()  # objects by namespace

    def fold(self, event: InformerEvent) -> None:
        """Apply an event."""
        match event:
            case Added(obj):
                self._counts[obj.namespace] += 1
                self._put(obj)
            case Updated(_, obj):
                if obj.key in self._objects:
                    self._objects[obj.key] = obj
            case Deleted(obj):
                self._remove(obj.key)

    @property
    def is_short(self) -> bool:
        """Whether deletions made it so short that objects that were left out may belong to the first ones."""
        return self._last is not None and len(self._order) < self._limit

    def refill(self, fresh: RowSelection) -> None:
        """Take the objects of a new selection, made from all of them; the counts remain those of the events."""
        self._objects, self._order, self._last = fresh._objects, fresh._order, fresh._last

    def window(self) -> list[Unstructured]:
        """Return the first objects by namespace and name, at most ``limit``."""
        return [self._objects[key] for key in self._order[: self._limit]]

    def first(self) -> RowSelection:
        """Return a selection of the objects of the window only."""
        some = RowSelection(self._limit)
        for obj in self.window():
            some.fold(Added(obj))
        return some

    def get(self, key: Key) -> Unstructured | None:
        """Return an object of the window, or ``None``; objects shortly after it may be returned, too."""
        return self._objects.get(key)

    @property
    def namespaces(self) -> int:
        """The number of namespaces of all objects."""
        return len(self._counts)

    def __len__(self) -> int:
        """The number of all objects."""
        return self._counts.total()

    def _put(self, obj: Unstructured) -> None:
        key = obj.key
        if self._last is not None and key > self._last:
            return
        if key not in self._objects:
            insort(self._order, key)
        self._objects[key] = obj
        if len(self._order) > 2 * self._limit:
            del self._objects[self._order.pop()]
            self._last = self._order[-1]

    def _remove(self, key: Key) -> None:
        self._counts[key[0]] -= 1
        if not self._counts[key[0]]:
            del self._counts[key[0]]
        if self._objects.pop(key, None) is not None:
            del self._order[bisect_left(self._order, key)]
