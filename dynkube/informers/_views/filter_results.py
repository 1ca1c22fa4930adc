"""Results of a filter on one version of a cache, kept between reads.

Used only for filters that depend on the object alone. Readers on any thread store results by one assignment. The owner
of the cache removes changed objects from the results, so deleted objects are not kept alive, and the next read
evaluates the filter only on changed objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dynkube.informers._cache.cache import Changes
from dynkube.informers._cache.store import EMPTY, Snapshot
from dynkube.meta import Unstructured

_MANY: Final = 256  # results are dropped after 256 changes, plus a quarter of the objects, without a read


@dataclass(frozen=True, slots=True)
class FilterResults:
    """The results on one version; objects not in ``shown`` or ``pending`` are hidden.

    Attributes:
        base: the version of the cache.
        shown: the objects that the filter shows.
        pending: the objects on which it was not evaluated yet.
        carried: number of changes since the last read.
    """

    base: Snapshot
    shown: Snapshot
    pending: Snapshot
    carried: int = 0

    @classmethod
    def none(cls, base: Snapshot) -> FilterResults:
        """Return the results before any evaluation."""
        return cls(base, EMPTY, base)

    def evaluated(self, shown: Iterable[Unstructured]) -> FilterResults:
        """Return the results after the filter was evaluated on the objects ``pending``.

        Args:
            shown: those of the objects that the filter shows.
        """
        editor = self.shown.edit()
        for obj in shown:
            editor.put(obj.key, obj)
        return FilterResults(self.base, editor.done(), EMPTY)

    def at(self, base: Snapshot) -> FilterResults | None:
        """Return the results for another version; ``None`` if too much differs."""
        return self if base is self.base else self.carry(base.changes_since(self.base), base)

    def carry(self, changes: Changes, base: Snapshot) -> FilterResults | None:
        """Return the results for the next version; ``None`` after too many changes."""
        carried = self.carried + len(changes)
        if carried > _MANY + len(base) // 4:
            return None
        shown, pending = self.shown.edit(), self.pending.edit()
        for key, _, after in changes:
            if shown.get(key) is not None:
                shown.remove(key)
            if after is not None:
                pending.put(key, after)
            elif pending.get(key) is not None:
                pending.remove(key)
        return FilterResults(base, shown.done(), pending.done(), carried)
