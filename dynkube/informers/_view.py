"""One user's view of a shared cache: a filter, indexes and subscribers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import trio

from dynkube.informers._filters import BoundFilter, Filter, FilterContext
from dynkube.informers._index import Change, Index
from dynkube.informers._slices import Slices, batches
from dynkube.informers._store import Snapshot
from dynkube.informers._subscriber import Subscriber
from dynkube.meta import Unstructured

ErrorReport = Callable[[str, Unstructured, Exception], None]

_SHOW_ALL: Final = BoundFilter(lambda obj: True)
_TRIES: Final = 8  # a predicate that itself sets the filter must not make a read go on for ever


class View:
    """What one informer handle shows of the cache behind it. Plain bookkeeping: the owner's task drives it."""

    def __init__(self, report: ErrorReport) -> None:
        self.filter: Filter | None = None
        self.indexes: dict[str, Index] = {}
        self.subscribers: list[Subscriber] = []
        self.joining: list[Subscriber] = []
        """Subscribers that the owner was asked to take in, and has not yet."""
        self.closed: bool = False
        self.synced: bool = False
        """Whether the truth was known once, and handled by every handler there was."""
        self.settled: trio.Event = trio.Event()
        """Set once it has synced, or was closed and never will."""
        self.refiltering = False
        """Whether the owner was asked to show the difference, and has not begun to."""
        self._awaited: set[Subscriber] | None = None  # handlers that has_synced waits for, once it is known
        self._bound = _SHOW_ALL
        self._behind = False  # something was not shown, as the filter could not answer
        self._report = report

    # ── filter ───────────────────────────────────────────────────────────────────────────────

    def set_filter(self, new: Filter | None, context: FilterContext) -> None:
        """Take another filter. Reads follow it from now on; the owner then shows the difference."""
        bound = new.bind(context) if new is not None else _SHOW_ALL
        old, self._bound, self.filter = self._bound, bound, new
        old.close()

    @property
    def waiting_for(self) -> str:
        """What the filter waits for before it can answer; ``""`` if it can."""
        return self._bound.pending()

    def accepts(self, obj: Unstructured) -> bool:
        """Whether the filter shows ``obj`` now. Never raises: a predicate that does hides the object."""
        return self._bound is _SHOW_ALL or bool(self.visible([obj]))

    def visible(self, objects: Iterable[Unstructured]) -> list[Unstructured]:
        """Those of ``objects`` that the filter shows now. Never raises, as :meth:`accepts`.

        On another thread than the loop's, the filter may be replaced in the middle, and let go of what it follows:
        then the answer is neither the old one's nor the new one's, and it is asked for again.
        """
        if self._bound is _SHOW_ALL:
            return list(objects)
        candidates = objects if isinstance(objects, list) else list(objects)
        shown: list[Unstructured] = []
        for _ in range(_TRIES):
            bound = self._bound
            shown = self._shown_by(bound, candidates)
            if bound is self._bound:
                break
        return shown

    def _shown_by(self, bound: BoundFilter, objects: list[Unstructured]) -> list[Unstructured]:
        if not bound.ready():
            return []
        matches, shown = bound.reading(), list[Unstructured]()
        for obj in objects:
            try:
                if matches(obj):
                    shown.append(obj)
            except Exception as exc:  # noqa: BLE001  # a user's function
                self._report(f"filter {self.filter!r}", obj, exc)
        return shown

    # ── the owner's side ─────────────────────────────────────────────────────────────────────

    def show(self, changes: Sequence[Change]) -> None:
        """Tell subscribers of changes to the cache."""
        if not self.subscribers:
            return
        if not self._bound.ready():
            self._behind = True
            return
        bound = self._bound
        shown: set[int] | None = None  # all of them
        if bound is not _SHOW_ALL:
            shown = set(map(id, self._shown_by(bound, [after for _, _, after in changes if after is not None])))
        for key, _, after in changes:
            visible = after if shown is None or id(after) in shown else None
            for subscriber in self.subscribers:
                subscriber.offer(key, visible)

    async def show_difference(self, snapshot: Snapshot, subscribers: Sequence[Subscriber], slices: Slices) -> None:
        """Bring ``subscribers`` to what the filter shows of ``snapshot``: adds and deletes for the difference."""
        missed = self._behind
        self._behind = not self._bound.ready()
        if self._behind:
            return  # the filter says when it can answer; then it is asked for everybody
        some = tuple(self.subscribers if missed else subscribers)  # they may go meanwhile
        for objects in batches(snapshot) if some else ():
            shown = set(map(id, self.visible(objects)))
            for obj in objects:
                visible = obj if id(obj) in shown else None
                key = obj.key
                for subscriber in some:
                    subscriber.offer(key, visible)
            await slices.breathe()
            if not self._bound.ready():  # replaced meanwhile, by one that cannot answer yet
                self._behind = True
                return
        if missed:  # objects that went while the filter could not answer
            for subscriber in some:
                for key in subscriber.known_keys():
                    if snapshot.get(key) is None:
                        subscriber.offer(key, None)
                await slices.breathe()

    def settle(self) -> None:
        """The cache holds the truth: once the filter can answer, what subscribers were offered is initial."""
        if self._behind or not self._bound.ready():
            return
        for subscriber in self.subscribers:
            subscriber.mark_synced()
        if self._awaited is None:
            self._awaited = {s for s in (*self.subscribers, *self.joining) if s.counts_for_sync}
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
        self._check_synced()

    def _check_synced(self) -> None:
        """Note it if every handler that ``has_synced`` waits for has handled the initial objects."""
        if self._awaited is not None and all(s.has_synced or s.closed for s in self._awaited):
            self.synced = True
            self.settled.set()
            self._awaited = set()  # keep no handlers that are gone by now

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
        self._bound.close()
        self._bound = _SHOW_ALL
        for index in self.indexes.values():
            index.clear()
