"""The keys of all rows of a live table, in the order of clusters, namespaces and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from dynkube.informers import ClusterObject
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured
from dynkube.notebook._ranking import Ranking
from dynkube.notebook._row_keys import RowKey, key_of
from dynkube.notebook._sorted_keys import SortedKey, SortedKeys

Lookup: TypeAlias = Callable[[RowKey], Unstructured | None]

_SOME: Final = 256  # rows that are removed at once


class RowSelection:
    """The keys of the objects of informers, kept up to date by their events.

    The objects themselves are those of ``lookup``: a dict of a million of them would take 42 MB more. Keys may arrive
    in any order.

    Args:
        lookup: returns the object with a key, as of the last event.
    """

    __slots__ = ("_counts", "_keys", "_lookup", "rankings")

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._keys = SortedKeys[RowKey]()
        self._counts: Counter[str] = Counter()  # objects by namespace
        self.rankings: tuple[Ranking, ...] = ()
        """Other orders, which are kept up to date as well."""

    def fold(self, event: InformerEvent, cluster: str = "") -> None:
        """Apply an event of a cluster."""
        if isinstance(event, Deleted):
            self._remove(key_of(ClusterObject(cluster, event.object)))
            return
        row = ClusterObject(cluster, event.object if isinstance(event, Added) else event.new)
        if isinstance(event, Added) and self._keys.add(key_of(row)):
            self._counts[row.object.namespace] += 1
        for ranking in self.rankings:
            ranking.put(row)

    def leave(self, cluster: str) -> Iterator[None]:
        """Return an iterator that removes all rows of a cluster in short steps."""
        while some := [key for key in self.slice(self.index((cluster,)), _SOME) if key[0] == cluster]:
            for key in some:
                self._remove(key)
            yield

    def _remove(self, key: RowKey) -> None:
        namespace = key[1]
        if self._keys.discard(key):
            self._counts[namespace] -= 1
            if not self._counts[namespace]:
                del self._counts[namespace]
        for ranking in self.rankings:
            ranking.remove(key)

    def window(self, first: int = 0, count: int = 200) -> list[ClusterObject]:
        """Return rows by cluster, namespace and name, from the place ``first`` on."""
        return self.rows(self._keys.slice(first, count))

    def rows(self, keys: Iterable[RowKey]) -> list[ClusterObject]:
        """Return the rows with these keys."""
        return [row for key in keys if (row := self.get(key)) is not None]

    def get(self, key: RowKey) -> ClusterObject | None:
        """Return a row, or ``None``."""
        obj = self._lookup(key)
        return None if obj is None else ClusterObject(key[0], obj)

    def scan(self) -> Iterator[list[RowKey]]:
        """Iterate over the keys in order, in lists of some hundred, while events are applied."""
        return self._keys.scan()

    def slice(self, first: int, count: int) -> list[RowKey]:
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
