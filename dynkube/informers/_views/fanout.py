"""The views of one cache, which may be thousands; updated in time slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from dynkube.informers._cache.cache import Changes
from dynkube.informers._cache.index import Change, Index
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._slices import Slices, batches
from dynkube.informers._views.filtered_view import View, batch_size

# A checkpoint after this many views, even if little time has passed: each view may have woken a handler's task, and the
# loop runs all woken tasks before it handles I/O and deadlines.
_VIEWS: Final = 64


class Fanout:
    """The views in the order in which they were added.

    The async methods are for the task that owns the cache. Views may be removed at any time, also while changes are
    being offered: a removed view has no subscribers. Each view gets all changes in order.
    """

    __slots__ = ("_slices", "_views")

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._views: dict[View, None] = {}

    def add(self, view: View) -> None:
        """Add a view."""
        self._views[view] = None

    def discard(self, view: View) -> None:
        """Remove a view, if it was added."""
        self._views.pop(view, None)

    def __contains__(self, view: View) -> bool:
        return view in self._views

    def __iter__(self) -> Iterator[View]:
        return iter(tuple(self._views))

    def indexes(self) -> list[Index]:
        """Return the indexes of all views."""
        return [index for view in self._views if view.indexes for index in view.indexes.values()]

    async def show(self, before: Snapshot, changes: Changes, after: Snapshot) -> None:
        """Send changes to the subscribers of each view. Handlers may run meanwhile."""
        if before is not after:
            await self._each(lambda view: view.carry(before, changes, after))
        most = max((len(view.subscribers) for view in self._views), default=0)
        for some in batches(changes, batch_size(most)):
            await self._each(partial(_show, changes=some))
            await self._slices.checkpoint_if_due()

    async def settle(self) -> None:
        """Call :meth:`View.settle` for each view, as the cache is complete."""
        await self._each(View.settle)

    async def _each(self, work: Callable[[View], None]) -> None:
        """Call ``work`` with each view, with checkpoints if there are many."""
        for number, view in enumerate(self):
            if number and number % _VIEWS == 0:
                await self._slices.rest()
            elif number and self._slices.over:
                await self._slices.checkpoint_if_due()
            work(view)


def _show(view: View, changes: Sequence[Change]) -> None:
    view.show(changes)
