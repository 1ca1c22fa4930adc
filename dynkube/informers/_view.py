"""One user's view of a shared cache: a filter, indexes and subscribers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import trio

from dynkube.informers._applied import NO_FILTER, AppliedFilter, ErrorReport
from dynkube.informers._filters import Filter, FilterContext
from dynkube.informers._index import Change, Index
from dynkube.informers._slices import Slices, batches
from dynkube.informers._store import Snapshot
from dynkube.informers._subscriber import Subscriber
from dynkube.meta import Unstructured

_TRIES: Final = 8  # a predicate that itself sets the filter must not make a read go on for ever


class View:
    """What one informer handle shows of the cache behind it. Plain bookkeeping: the owner's task drives it.

    A *round* evaluates the filter on every object, and shows subscribers the difference. The owner makes one when a
    subscriber comes, and whenever one was asked for.

    Args:
        report: called when a function of the user's fails.
        ask_round: asks the owner for a round.
    """

    __slots__ = (
        "_applied",
        "_ask_round",
        "_awaited",
        "_behind",
        "_replaced",
        "_report",
        "closed",
        "filter",
        "indexes",
        "joining",
        "refiltering",
        "settled",
        "subscribers",
        "synced",
    )

    def __init__(self, report: ErrorReport, ask_round: Callable[[], None]) -> None:
        self.filter: Filter | None = None
        self.indexes: dict[str, Index] = {}
        self.subscribers: list[Subscriber] = []
        self.joining: list[Subscriber] = []
        """Subscribers that the owner was asked to take in, and has not yet."""
        self.closed: bool = False
        self.synced: bool = False
        """Whether the initial list was complete once, and handled by every handler there was."""
        self.settled: trio.Event = trio.Event()
        """Set once it has synced, or was closed and never will."""
        self.refiltering: bool = False
        """Whether a round was asked for that has not begun."""
        self._replaced = False  # whether the filter was replaced since the last round began
        self._awaited: set[Subscriber] | None = None  # handlers that has_synced waits for, once it is known
        self._applied = NO_FILTER
        self._behind = False  # something was not shown, as the filter could not answer
        self._report = report
        self._ask_round = ask_round

    # ── filter ───────────────────────────────────────────────────────────────────────────────

    def set_filter(self, new: Filter | None, context: FilterContext) -> None:
        """Take another filter. Reads follow it from now on; the next round shows the difference."""
        applied = AppliedFilter.bind(new, context, self._report)
        old, self._applied, self.filter = self._applied, applied, new
        self._replaced = True
        old.close()

    @property
    def waiting_for(self) -> str:
        """What the filter waits for before it can answer; ``""`` if it can."""
        return self._applied.pending

    def accepts(self, obj: Unstructured) -> bool:
        """Whether the filter shows ``obj`` now. Never raises: a predicate that does hides the object."""
        return self._applied.shows_all or bool(self._shown([obj]))

    def visible(self, objects: Iterable[Unstructured]) -> list[Unstructured]:
        """Those of ``objects`` that the filter shows now. Never raises, as :meth:`accepts`."""
        if self._applied.shows_all:
            return list(objects)
        return self._shown(objects if isinstance(objects, list) else list(objects)) or []

    def known(self, snapshot: Snapshot, latest: Callable[[], Snapshot]) -> Snapshot | None:
        """All that the filter shows of a version of the cache, where that is kept; ``None`` where it has to be asked.

        Args:
            snapshot: that version.
            latest: gives the version that is published.
        """
        for _ in range(_TRIES):
            applied = self._applied
            known = snapshot if applied.shows_all else applied.known(snapshot, latest)
            if applied is self._applied:
                return known
        return None

    def count(self, objects: Iterable[Unstructured]) -> int:
        """How many of ``objects`` the filter shows now."""
        count = 0
        for _ in range(_TRIES):
            applied = self._applied
            count = applied.count(objects)
            if applied is self._applied:
                break
        return count

    def forget(self) -> None:
        """The filter may answer differently now: keep nothing of what it said."""
        self._applied.forget()

    def carry(self, before: Snapshot, changes: Sequence[Change], after: Snapshot) -> None:
        """The cache has another version: of what the filter was found to show, what changed is to be asked again."""
        self._applied.carry(before, changes, after)

    def _shown(self, objects: Sequence[Unstructured]) -> list[Unstructured] | None:
        """The same; ``None`` if the filter cannot answer.

        On another thread than the loop's, the filter may be replaced in the middle, and let go of what it follows:
        then the answer is neither the old one's nor the new one's, and it is asked for again.
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
        """Offer changes of the cache to subscribers."""
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
        if self._behind:  # it can answer again, and has not said so
            self._ask_round()
        shown = set(map(id, found))
        for key, _, after in changes:
            visible = after if id(after) in shown else None
            for subscriber in self.subscribers:
                subscriber.offer(key, visible)

    def begin_round(self) -> None:
        """Whatever asks for a round from here on asks for another one."""
        self.refiltering = False
        self._replaced = False

    async def show_difference(self, snapshot: Snapshot, subscribers: Sequence[Subscriber], slices: Slices) -> None:
        """Bring ``subscribers`` to what the filter shows of ``snapshot``: adds and deletes for the difference."""
        missed = self._behind
        self._behind = not self._applied.ready
        if self._behind:
            return  # the filter says when it can answer; then there is a round for all subscribers
        some = tuple(self.subscribers if missed else subscribers)  # they may go meanwhile
        for objects in batches(snapshot) if some else ():
            found = self._shown(objects)
            if found is None:  # replaced meanwhile, by one that cannot answer yet
                self._behind = True
                return
            shown = set(map(id, found))
            for obj in objects:
                visible = obj if id(obj) in shown else None
                key = obj.key
                for subscriber in some:
                    subscriber.offer(key, visible)
            await slices.breathe()
        if missed:
            await self._show_what_went(snapshot, some, slices)

    async def _show_what_went(self, snapshot: Snapshot, subscribers: Sequence[Subscriber], slices: Slices) -> None:
        """Offer the end of objects that went while the filter could not answer."""
        for subscriber in subscribers:
            for keys in batches(subscriber.known_keys()):
                for key in keys:
                    if snapshot.get(key) is None:
                        subscriber.offer(key, None)
                await slices.breathe()

    def settle(self, *, after_round: bool = False) -> None:
        """The cache is complete: what subscribers were offered is initial, unless a round is to come that changes it.

        A round settles even if another one was asked for meanwhile: where ``notify_changed`` is called all the time,
        handlers would never have synced. A filter that was replaced in the middle of a round needs the next one.
        """
        if self._behind or self._replaced or (self.refiltering and not after_round) or not self._applied.ready:
            return
        for subscriber in self.subscribers:
            subscriber.mark_synced()
        if self._awaited is None and not self.synced:
            among = (*self.subscribers, *self.joining)
            self._awaited = {s for s in among if s.counts_for_sync and not (s.has_synced or s.closed)}
            self._check_synced()

    def join(self, subscriber: Subscriber) -> bool:
        """Take in a subscriber that waited for it; returns whether it still wants to be."""
        if subscriber in self.joining:
            self.joining.remove(subscriber)
        if not subscriber.closed:
            self.subscribers.append(subscriber)
        return not subscriber.closed

    def subscriber_settled(self, subscriber: Subscriber) -> None:
        """A subscriber has synced, or was closed."""
        if subscriber.closed:
            for among in (self.joining, self.subscribers):
                if subscriber in among:
                    among.remove(subscriber)
        if self._awaited is not None:
            self._awaited.discard(subscriber)
            self._check_synced()

    def _check_synced(self) -> None:
        """Note it if every handler that ``has_synced`` waits for has handled the initial objects."""
        if not self._awaited:
            self._awaited = None
            self.synced = True
            self.settled.set()

    def end(self) -> None:
        """There is nothing more to tell, and nothing to wait for. What has not synced by now never will have."""
        self._awaited = None
        for subscriber in (*self.subscribers, *self.joining):
            subscriber.close()
        self.settled.set()

    def close(self) -> None:
        """Let go of what the filter follows, and of the indexed objects."""
        self.closed = True
        self.end()
        applied, self._applied = self._applied, NO_FILTER
        applied.close()
        for index in self.indexes.values():
            index.clear()
