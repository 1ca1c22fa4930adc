"""The keys of all rows of a live table, in the order of namespaces and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from dynkube.meta import Added, Deleted, InformerEvent, Unstructured
from dynkube.meta._object import Key
from dynkube.notebook._ranking import Ranking
from dynkube.notebook._sorted_keys import SortedKey, SortedKeys

Lookup: TypeAlias = Callable[[Key], Unstructured | None]


class RowSelection:
    """The keys of an informer's objects, kept up to date by its events.

    The objects themselves are those of ``lookup``: a dict of a million of them would take 42 MB more. Keys may arrive
    in any order.

    Args:
        lookup: returns the object with a key, as of the last event.
    """

    __slots__ = ("_counts", "_keys", "_lookup", "rankings")

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._keys = SortedKeys[Key]()
        self._counts: Counter[str] = Counter()  # objects by namespace
        self.rankings: tuple[Ranking, ...] = ()
        """Other orders, which are kept up to date as well."""

    def fold(self, event: InformerEvent) -> None:
        """Apply an event."""
        if isinstance(event, Deleted):
            self._remove(event.object.key)
            return
        obj = event.object if isinstance(event, Added) else event.new
        if isinstance(event, Added) and self._keys.add(obj.key):
            self._counts[obj.namespace] += 1
        for ranking in self.rankings:
            ranking.put(obj)

    def _remove(self, key: Key) -> None:
        if self._keys.discard(key):
            self._counts[key[0]] -= 1
            if not self._counts[key[0]]:
                del self._counts[key[0]]
        for ranking in self.rankings:
            ranking.remove(key)

    def window(self, first: int = 0, count: int = 200) -> list[Unstructured]:
        """Return objects by namespace and name, from the place ``first`` on."""
        return self.objects(self._keys.slice(first, count))

    def objects(self, keys: Iterable[Key]) -> list[Unstructured]:
        """Return the objects with these keys."""
        return [obj for key in keys if (obj := self._lookup(key)) is not None]

    def get(self, key: Key) -> Unstructured | None:
        """Return an object, or ``None``."""
        return self._lookup(key)

    def scan(self) -> Iterator[list[Key]]:
        """Iterate over the keys in order, in lists of some hundred, while events are applied."""
        return self._keys.scan()

    def slice(self, first: int, count: int) -> list[Key]:
        """Return ``count`` keys from the place ``first`` on."""
        return self._keys.slice(first, count)

    def index(self, key: SortedKey) -> int:
        """Return the place of a key, or the one that it would have."""
        return self._keys.index(key)

    @property
    def namespaces(self) -> int:
        """The number of namespaces of all objects."""
        return len(self._counts)

    def __len__(self) -> int:
        """The number of all objects."""
        return len(self._keys)
