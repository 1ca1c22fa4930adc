"""One informer's view of a shared cache: its filter, indexes and subscribers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

import trio

from dynkube.informers._cache.cache import Changes
from dynkube.informers._cache.index import Change, Index
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._filters.filters import Filter, FilterContext
from dynkube.informers._slices import Slices, batches
from dynkube.informers._views.applied_filter import CLOSED, NO_FILTER, AppliedFilter, ErrorReport
from dynkube.informers._views.subscriber import Subscriber
from dynkube.meta import Unstructured

_TRIES: Final = 8  # a predicate that sets the filter must not make a read loop forever
_OBJECTS: Final = 64  # of a batch, unless there are many subscribers
_OFFERS: Final = 2048  # of a batch: some milliseconds


def batch_size(subscribers: int) -> int:
    """Return how many objects to offer to that many subscribers without a checkpoint in between."""
    return max(1, min(_OBJECTS, _OFFERS // max(1, subscribers)))


class View:
    """One informer's view of a shared cache: the objects that pass its filter.

    Only the task that owns the cache (the *owner*) runs the view. In a *round*, the view evaluates the filter on every
    object and sends subscribers the changes since the previous round. The owner starts a round when a subscriber is
    added, and on request.

    Args:
        report: called when a user's function raises.
        request_round: requests a round from the owner.
    """

    __slots__ = (
        "_applied",
        "_awaited",
        "_behind",
        "_replaced",
        "_report",
        "_request_round",
        "closed",
        "filter",
        "indexes",
        "joining",
        "refiltering",
        "settled",
        "subscribers",
        "synced",
    )

    def __init__(self, report: ErrorReport, request_round: Callable[[], None]) -> None:
        self.filter: Filter | None = None
        self.indexes: dict[str, Index] = {}
        self.subscribers: list[Subscriber] = []
        self.joining: list[Subscriber] = []
        """Subscribers that are to be added by the owner."""
        self.closed: bool = False
        self.synced: bool = False
        """Whether the initial sync was complete and handled by every handler."""
        self.settled: trio.Event = trio.Event()
        """Set once it has synced, or was closed before that."""
        self.refiltering: bool = False
        """Whether a round was requested and has not started."""
        self._replaced = False  # whether the filter was replaced since the last round began
        self._awaited: set[Subscriber] | None = None  # handlers that has_synced waits for; None if it does not wait
        self._applied = NO_FILTER
        self._behind = False  # whether changes were not sent because the filter was not ready
        self._report = report
        self._request_round = request_round

    # ── filter ───────────────────────────────────────────────────────────────────────────────

    def set_filter(self, new: Filter | None, context: FilterContext) -> None:
        """Replace the filter. Reads use it at once; the next round notifies subscribers."""
        applied = AppliedFilter.bind(new, context, self._report)
        old, self._applied, self.filter = self._applied, applied, new
        self._replaced = True
        old.close()

    @property
    def waiting_for(self) -> str:
        """The reason why the filter is not ready, for messages; ``""`` if it is ready."""
        return self._applied.pending

    def accepts(self, obj: Unstructured) -> bool:
        """Return whether the filter shows ``obj``; ``False`` if the predicate raises."""
        return self._applied.shows_all or bool(self._shown([obj]))

    def visible(self, objects: Iterable[Unstructured]) -> list[Unstructured]:
        """Return the ``objects`` that the filter shows, without those on which it raises."""
        if self._applied.shows_all:
            return list(objects)
        return self._shown(objects if isinstance(objects, list) else list(objects)) or []

    def known(self, snapshot: Snapshot, latest: Callable[[], Snapshot]) -> Snapshot | None:
        """Return the remembered result of the filter on a version of the cache.

        Args:
            snapshot: that version.
            latest: returns the published version.

        Returns:
            The objects that the filter shows; ``None`` if the filter has to be called.
        """
        for _ in range(_TRIES):
            applied = self._applied
            known = snapshot if applied.shows_all else applied.known(snapshot, latest)
            if applied is self._applied:
                return known
        return None

    def count(self, objects: Iterable[Unstructured]) -> int:
        """Return how many of ``objects`` the filter shows."""
        count = 0
        for _ in range(_TRIES):
            applied = self._applied
            count = applied.count(objects)
            if applied is self._applied:
                break
        return count

    def forget(self) -> None:
        """Drop remembered results, as the filter may now give different results."""
        self._applied.forget()

    def carry(self, before: Snapshot, changes: Changes, after: Snapshot) -> None:
        """Carry remembered results over to a new version, except for changed objects."""
        self._applied.carry(before, changes, after)

    def _shown(self, objects: Sequence[Unstructured]) -> list[Unstructured] | None:
        """Return the objects that the filter shows; ``None`` if it is not ready.

        On a thread other than the event loop's, the filter may be replaced and closed during the evaluation. The result
        may then match neither filter, so the objects are evaluated again with the new one.
        """
        shown: list[Unstructured] | None = None
        for _ in range(_TRIES):
            applied = self._applied
            shown = applied.shown(objects)
            if applied is self._applied:
                break
        return shown

    # ── the owner's side ─────────────────────────────────────────────────────────────────────

    def show(self, changes: Sequence[Change]) -> None:
        """Send changes of the cache to subscribers."""
        if not self.subscribers:
            return
        if self._applied.shows_all:
            for key, _, after in changes:
                for subscriber in self.subscribers:
                    subscriber.offer(key, after)
            return
        found = self._shown([after for _, _, after in changes if after is not None])
        if found is None:
            self._behind = True
            return
        if self._behind:  # it is ready again, and has not requested a round
            self._request_round()
        shown = set(map(id, found))
        for key, _, after in changes:
            visible = after if id(after) in shown else None
            for subscriber in self.subscribers:
                subscriber.offer(key, visible)

    def begin_round(self) -> None:
        """Start a round: requests from now on cause another round."""
        self.refiltering = False
        self._replaced = False

    async def show_difference(self, snapshot: Snapshot, subscribers: Sequence[Subscriber], slices: Slices) -> None:
        """Send ``subscribers`` the objects of ``snapshot`` that the filter shows.

        Their mailboxes compute the difference to the states that were delivered.
        """
        missed = self._behind
        self._behind = not self._applied.ready
        if self._behind:
            return  # when the filter is ready it requests a round, which is for all subscribers
        some = tuple(self.subscribers if missed else subscribers)  # a copy, as subscribers may be removed meanwhile
        for objects in batches(snapshot, batch_size(len(some))) if some else ():
            found = self._shown(objects)
            if found is None:  # the filter was replaced meanwhile by one that is not ready yet
                self._behind = True
                return
            shown = set(map(id, found))
            for obj in objects:
                visible = obj if id(obj) in shown else None
                key = obj.key
                for subscriber in some:
                    subscriber.offer(key, visible)
            await slices.checkpoint_if_due()
        if missed:
            await self._send_pending_deletions(snapshot, some, slices)

    async def _send_pending_deletions(
        self, snapshot: Snapshot, subscribers: Sequence[Subscriber], slices: Slices
    ) -> None:
        """Send deletions of objects that were deleted while the filter was not ready."""
        for subscriber in subscribers:
            for keys in chain.from_iterable(map(batches, subscriber.known_keys())):
                for key in keys:
                    if snapshot.get(key) is None:
                        subscriber.offer(key, None)
                await slices.checkpoint_if_due()
                if subscriber.closed:
                    break

    def settle(self, *, after_round: bool = False) -> None:
        """Mark offered objects as the initial list, unless a round is pending.

        After a round (``after_round``) they are marked even if another round was requested meanwhile; if not, handlers
        would never sync while ``refresh_filter`` is called all the time. If the filter was replaced during the round,
        they are marked after the next one.
        """
        if self._behind or self._replaced or (self.refiltering and not after_round) or not self._applied.ready:
            return
        for subscriber in self.subscribers:
            subscriber.mark_synced()
        if self._awaited is None and not self.synced:
            among = (*self.subscribers, *self.joining)
            self._awaited = {subscriber for subscriber in among if subscriber.counts_for_sync}
            self._check_synced()

    def join(self, subscriber: Subscriber) -> bool:
        """Add a joining subscriber; return ``False`` if it was closed meanwhile."""
        if subscriber in self.joining:
            self.joining.remove(subscriber)
        if not subscriber.closed:
            self.subscribers.append(subscriber)
        return not subscriber.closed

    def subscriber_settled(self, subscriber: Subscriber) -> None:
        """Handle that a subscriber has synced, or was closed."""
        if subscriber.closed:
            for among in (self.joining, self.subscribers):
                if subscriber in among:
                    among.remove(subscriber)
        if self._awaited is not None:
            self._awaited.discard(subscriber)
            self._check_synced()

    def _check_synced(self) -> None:
        """Set ``synced`` if every awaited handler has handled the initial objects."""
        if not self._awaited:
            self._awaited = None
            self.synced = True
            self.settled.set()

    def end(self) -> None:
        """Close all subscribers, and wake tasks that wait for the sync."""
        self._awaited = None
        for subscriber in (*self.subscribers, *self.joining):
            subscriber.close()
        self.settled.set()

    def close(self) -> Iterator[None]:
        """Close the subscribers and the filter, and clear the indexes.

        Returns:
            An iterator that frees what the indexes had in short steps.
        """
        self.closed = True
        self.end()
        applied, self._applied = self._applied, CLOSED
        applied.close()
        return chain.from_iterable([index.clear() for index in self.indexes.values()])
