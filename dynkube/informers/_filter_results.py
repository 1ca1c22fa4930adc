"""What a filter was found to show of one version of a cache, so that the next read need not ask it again.

Only for filters that answer by the object alone. Readers, on any thread, publish what they have found by one
assignment. The cache's owner takes out what changed, so nothing is kept of objects that are gone, and the next reader
asks about that alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dynkube.informers._index import Change
from dynkube.informers._store import EMPTY, Snapshot
from dynkube.meta import Unstructured

_MANY: Final = 256  # changes after which a filter that nobody reads through is asked anew


@dataclass(frozen=True, slots=True)
class FilterResults:
    """Of ``base``: the objects that are shown, and those about which the filter was not asked. The others are hidden.

    Attributes:
        base: the version of the cache.
        shown: what the filter shows of it.
        unasked: what it was not asked about.
        carried: how many changes came since the last read.
    """

    base: Snapshot
    shown: Snapshot
    unasked: Snapshot
    carried: int = 0

    @classmethod
    def none(cls, base: Snapshot) -> FilterResults:
        """Nothing was asked yet."""
        return cls(base, EMPTY, base)

    def asked(self, shown: Iterable[Unstructured]) -> FilterResults:
        """The filter was asked about all that it had not been asked about, and shows these."""
        editor = self.shown.edit()
        for obj in shown:
            editor.put(obj.key, obj)
        return FilterResults(self.base, editor.done(), EMPTY)

    def carry(self, changes: Sequence[Change], base: Snapshot) -> FilterResults | None:
        """The same of the next version; ``None`` where that is not worth it."""
        carried = self.carried + len(changes)
        if carried > _MANY + len(base) // 4:
            return None
        shown, unasked = self.shown.edit(), self.unasked.edit()
        for key, _, after in changes:
            if shown.get(key) is not None:
                shown.remove(key)
            if after is not None:
                unasked.put(key, after)
            elif unasked.get(key) is not None:
                unasked.remove(key)
        return FilterResults(base, shown.done(), unasked.done(), carried)
