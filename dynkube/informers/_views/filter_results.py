"""Results of a filter on one version of a cache, kept between reads.

Used only for filters that depend on the object alone. Readers on any thread store results by one assignment. The owner
of the cache removes changed objects from the results, so deleted objects are not kept alive, and the next read
evaluates the filter only on changed objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from dynkube.informers._cache.cache import Changes
from dynkube.informers._cache.store import EMPTY, Snapshot
from dynkube.meta import Unstructured

_MANY: Final = 256  # results are dropped after 256 changes, plus a quarter of the objects, without a read
_AT_ONCE: Final = 4096  # and after so many changes at once, which would block the event loop for more than 10 ms


@dataclass(frozen=True, slots=True)
class FilterResults:
    """The results on one version; objects not in ``shown`` or ``pending`` are hidden.

    Attributes:
        round: the same object for all results until the filter is to be evaluated again.
        base: the version of the cache.
        shown: the objects that the filter shows.
        pending: the objects on which it was not evaluated yet.
        carried: number of changes since the last read.
    """

    round: object
    base: Snapshot
    shown: Snapshot
    pending: Snapshot
    carried: int = 0

    @classmethod
    def none(cls, current_round: object, base: Snapshot) -> FilterResults:
        """Return the results before any evaluation."""
        return cls(current_round, base, EMPTY, base)

    def evaluated(self, shown: Iterable[Unstructured]) -> FilterResults:
        """Return the results after the filter was evaluated on the objects ``pending``.

        Args:
            shown: those of the objects that the filter shows.
        """
        editor = self.shown.edit()
        for obj in shown:
            editor.put(obj.key, obj)
        return FilterResults(self.round, self.base, editor.done(), EMPTY)

    def at(self, base: Snapshot) -> FilterResults | None:
        """Return the results for another version; ``None`` if too much differs."""
        if base is self.base:
            return self
        if abs(len(base) - len(self.base)) > _AT_ONCE:
            return None
        return self.carry(list(islice(base.changes_since(self.base), _AT_ONCE + 1)), base)

    def carry(self, changes: Changes, base: Snapshot) -> FilterResults | None:
        """Return the results for the next version; ``None`` after too many changes."""
        carried = self.carried + len(changes)
        if carried > _MANY + len(base) // 4 or len(changes) > _AT_ONCE:
            return None
        shown, pending = self.shown.edit(), self.pending.edit()
        for key, _, after in changes:
            if shown.get(key) is not None:
                shown.remove(key)
            if after is not None:
                pending.put(key, after)
            elif pending.get(key) is not None:
                pending.remove(key)
        return FilterResults(self.round, base, shown.done(), pending.done(), carried)
