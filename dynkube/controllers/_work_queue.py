"""``WorkQueue``: keys to process, each at most once at a time.

The semantics are those of client-go's ``util/workqueue`` (deduplication, ``done``, shutdown) and of
controller-runtime's priority queue (priorities, delays), with one addition: keys of low priority do not starve.
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Generic, NamedTuple, TypeVar

import trio

from dynkube.controllers._rate_limits import RateLimiter, default_rate_limiter
from dynkube.errors import ClosedError, InvalidInput

K = TypeVar("K", bound=Hashable)

MAX_OVERTAKING: Final = 60.0
"""Seconds after which a key of low priority is not overtaken any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkQueueStatistics:
    """The state and the counters of a :class:`WorkQueue`; the names are those of controller-runtime's metrics.

    Attributes:
        depth: keys that could be taken now, by priority.
        delayed: keys that wait for their time.
        processing: keys that were taken and are not done.
        adds: calls of ``add`` that made a key wait that did not wait before.
        retries: calls of ``add_rate_limited``.
        taken: keys that were taken.
        queue_seconds: how long the taken keys had waited, together; delays are not counted.
        work_seconds: how long keys were processed until ``done``, together.
        unfinished_work_seconds: how long those that are being processed have taken so far, together.
        longest_running_seconds: the longest of these.
    """

    depth: dict[int, int]
    delayed: int
    processing: int
    adds: int
    retries: int
    taken: int
    queue_seconds: float
    work_seconds: float
    unfinished_work_seconds: float
    longest_running_seconds: float


class Cause(IntEnum):
    """Why a key waits. Of two causes with the same time, the smaller one counts."""

    CHANGE = 0
    """Something has changed."""
    TIMER = 1
    """It asked to be processed again after some time."""
    RETRY = 2
    """It failed."""
    ECHO = 3
    """An informer shows what the key itself has written."""


def merged(present: tuple[float, Cause], added: tuple[float, Cause]) -> tuple[float, Cause]:
    """Return when a key that waits may be taken if it is added again, and for which of the two causes.

    The earlier one, but for a key that failed: its own writes do not end its back-off, or a key that writes and then
    fails would be processed without end.
    """
    if {present[1], added[1]} == {Cause.RETRY, Cause.ECHO}:
        return present if present[1] is Cause.RETRY else added
    return min(present, added)


@dataclass(slots=True, eq=False)
class _Entry(Generic[K]):
    """A key that waits.

    Attributes:
        key: the key.
        priority: the highest one that was asked for.
        at: when it may be taken, or from when on it could have been taken.
        cause: why it waits.
        turn: number of its newest entry in the heap of delayed keys; 0 if it is not delayed.
    """

    key: K
    priority: int
    at: float
    cause: Cause
    turn: int = 0


class _Processing(NamedTuple):
    """A key that was taken: since when, and as what; ``waited`` is how long it was ready."""

    since: float
    priority: int
    waited: float
    cause: Cause


class WorkQueue(Generic[K]):
    """Keys to process: deduplicated, with delays, rate limits and priorities.

    A key that is added again while it waits, waits once. A key that is added while it is processed is processed again
    afterwards, never at the same time. Keys with a higher priority are taken first, and those of the same priority in
    the order in which they became ready; but a key that has been ready for ``max_overtaking`` seconds is taken before
    all that became ready later.

    With ``debounce``, a key that is added waits that long for further additions, counted from the first one since it
    was last taken: further ones do not prolong that, so a key that is added without end is processed each time that it
    has passed. A key that is due earlier for another reason, such as a retry, is taken then, and owes nothing more.

    Not thread-safe: all methods are called in the event loop's thread. Only :meth:`get`, :meth:`item` and :meth:`drain`
    wait.

    Args:
        rate_limiter: the delays of :meth:`add_rate_limited`; by default :func:`default_rate_limiter`.
        max_overtaking: seconds for which keys of a higher priority may be taken before a ready one; ``math.inf`` for
            ever.
        debounce: seconds for which :meth:`add` waits at least; :meth:`add_rate_limited` does not.

    Raises:
        InvalidInput: ``max_overtaking`` or ``debounce`` is negative or not a number.
    """

    def __init__(
        self,
        *,
        rate_limiter: RateLimiter[K] | None = None,
        max_overtaking: float = MAX_OVERTAKING,
        debounce: float = 0.0,
    ) -> None:
        if not 0 <= debounce < math.inf:
            raise InvalidInput(f"debounce={debounce!r}: pass 0 or more seconds")
        if not max_overtaking >= 0:
            raise InvalidInput(f"max_overtaking={max_overtaking!r}: pass 0 or more seconds, or math.inf")
        self._limiter: RateLimiter[K] = default_rate_limiter() if rate_limiter is None else rate_limiter
        self._max_overtaking = max_overtaking
        self._debounce = debounce
        self._ready: OrderedDict[K, _Entry[K]] = OrderedDict()  # in the order in which they became ready
        self._levels: dict[int, OrderedDict[K, _Entry[K]]] = {}  # the same by priority
        self._order: list[int] = []  # the priorities with ready keys, ascending
        self._delayed: dict[K, _Entry[K]] = {}
        self._times: list[tuple[float, int, _Entry[K]]] = []  # a heap of these; entries with another turn are outdated
        self._turns = 0
        self._processing: dict[K, _Processing] = {}
        self._again: dict[K, _Entry[K]] = {}  # added while being processed
        self._idle = trio.lowlevel.ParkingLot()
        self._timer: trio.CancelScope | None = None  # of the one waiting task that wakes up for delayed keys
        self._closed = False
        self._drained = trio.Event()
        self._adds = self._retries = self._taken = 0
        self._queue_seconds = self._work_seconds = 0.0

    # ── adding ───────────────────────────────────────────────────────────────────────────────

    def add(self, key: K, *, priority: int = 0, after: float = 0.0) -> None:
        """Have a key processed. Does not block; ignored after :meth:`close`.

        If the key waits already, the higher priority and the earlier time hold.

        Args:
            key: what to process.
            priority: keys with a higher one are taken first; the initial objects of an informer have -100.
            after: seconds to wait; with ``debounce`` at least as long as that.

        Raises:
            InvalidInput: ``after`` is not a finite number.
        """
        if self._debounce:
            after = max(after, self._debounce)
        self._add(key, Cause.CHANGE, priority, after)

    def _add_change(self, key: K, cause: Cause, priority: int, after: float, since: float) -> None:
        """Add a key that has changed at a time; ``debounce`` has waited for it since."""
        if self._debounce:
            after = max(after, self._debounce - (trio.current_time() - since))
        self._add(key, cause, priority, after)

    def add_rate_limited(self, key: K, *, priority: int = 0) -> None:
        """Have a key that failed processed again, after the delay of the rate limiter. Ignored after :meth:`close`."""
        if not self._closed:
            self._retries += 1
            self._add(key, Cause.RETRY, priority, self._limiter.delay(key, trio.current_time()))

    def _add(self, key: K, cause: Cause, priority: int, after: float = 0.0) -> None:
        if after and not math.isfinite(after):
            raise InvalidInput(f"after={after!r}: pass a finite number of seconds")
        if self._closed:
            return
        now = trio.current_time()
        if self._times:
            self._release(now)  # so that keys are in the order in which they became ready
        at = now + after if after > 0 else now
        if (entry := self._ready.get(key)) is not None:
            if cause < entry.cause:
                entry.cause = cause
            if priority > entry.priority:
                self._raise(entry, priority)
        elif (entry := self._delayed.get(key) or self._again.get(key)) is not None:
            entry.priority = max(entry.priority, priority)
            before = entry.at
            entry.at, entry.cause = merged((before, entry.cause), (at, cause))
            if entry.turn and entry.at != before:
                self._place(entry, now)
        else:
            self._adds += 1
            entry = _Entry(key, priority, at, cause)
            if key in self._processing:
                self._again[key] = entry
            else:
                self._place(entry, now)

    def forget(self, key: K) -> None:
        """Reset the failures of a key, as it succeeded or is not needed any more. It stays in the queue."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return how often a key has failed since it was last forgotten."""
        return self._limiter.failures(key)

    def discard(self, key: K) -> None:
        """Remove a key that waits, also one that was added again while it is processed; reset its failures."""
        self._limiter.forget(key)
        self._again.pop(key, None)
        if (entry := self._ready.get(key)) is not None:
            self._unready(entry)
            self._check_drained()
        elif (entry := self._delayed.pop(key, None)) is not None:
            entry.turn = 0

    # ── taking ───────────────────────────────────────────────────────────────────────────────

    async def get(self) -> K:
        """Wait for a key and take it; :meth:`done` has to be called for it.

        Cancellation takes no key. See :meth:`item` for a context manager.

        Raises:
            ClosedError: the queue was closed, and nothing is left to take.
        """
        await trio.lowlevel.checkpoint()
        while True:
            now = trio.current_time()
            self._release(now)
            if self._ready:
                return self._take(now)
            if self._closed:
                raise ClosedError("the work queue is closed")
            await self._wait()

    @asynccontextmanager
    async def item(self) -> AsyncIterator[K]:
        """Wait for a key; it is processed inside the ``async with`` block, however that ends.

        Raises:
            ClosedError: the queue was closed, and nothing is left to take.
        """
        key = await self.get()
        try:
            yield key
        finally:
            self.done(key)

    def done(self, key: K) -> None:
        """End the processing of a key. If it was added meanwhile, it waits to be taken again.

        Raises:
            InvalidInput: the key is not being processed.
        """
        began = self._processing.pop(key, None)
        if began is None:
            raise InvalidInput(f"{key!r} is not being processed: call done() once for each key that get() has returned")
        now = trio.current_time()
        if self._times:
            self._release(now)  # what has become ready while the key was processed comes first
        self._work_seconds += now - began.since
        entry = self._again.pop(key, None)
        if entry is not None and (entry.at <= now or not self._closed):
            entry.at = max(entry.at, now)
            self._place(entry, now)
        self._check_drained()

    def priority(self, key: K) -> int:
        """Return the priority with which a key was taken that is being processed, to add it again with the same.

        Raises:
            InvalidInput: the key is not being processed.
        """
        if key not in self._processing:
            raise InvalidInput(f"{key!r} is not being processed: call priority() between get() and done()")
        return self._processing[key].priority

    def waited(self, key: K) -> float:
        """Return for how many seconds a key was ready that is being processed, before it was taken.

        Raises:
            InvalidInput: the key is not being processed.
        """
        if key not in self._processing:
            raise InvalidInput(f"{key!r} is not being processed: call waited() between get() and done()")
        return self._processing[key].waited

    def _is_processing(self, key: K) -> bool:
        return key in self._processing

    def _cause(self, key: K) -> Cause:
        """Return why a key was taken that is being processed."""
        return self._processing[key].cause

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Accept no more keys, and drop those that are delayed.

        What is ready, and what was added while it is processed, is still taken; then :meth:`get` raises ClosedError.
        Does not block; safe to call twice.
        """
        if self._closed:
            return
        self._release(trio.current_time())
        self._closed = True
        self._delayed.clear()
        self._times.clear()
        self._idle.unpark_all()
        self._check_drained()

    async def drain(self) -> None:
        """Close the queue, and wait until every key that was ready is done.

        Some task has to take them. Cancellation only stops the waiting.
        """
        self.close()
        await self._drained.wait()

    @property
    def closed(self) -> bool:
        """Whether the queue was closed."""
        return self._closed

    def __len__(self) -> int:
        """Return how many keys could be taken now."""
        self._release(trio.current_time())
        return len(self._ready)

    def __bool__(self) -> bool:
        """Return ``True``, so that an empty queue is not taken for a missing one."""
        return True

    def statistics(self) -> WorkQueueStatistics:
        """Return the state and the counters."""
        return self._statistics(trio.current_time())

    def _statistics(self, now: float) -> WorkQueueStatistics:
        """Return the same as of now; also in another thread, so it changes nothing and iterates over copies only."""
        running = [now - each.since for each in tuple(self._processing.values())]
        delayed = tuple(self._delayed.values())
        due = [entry.priority for entry in delayed if entry.at <= now]
        depth = Counter(due)
        for priority, level in tuple(self._levels.items()):
            depth[priority] += len(level)
        return WorkQueueStatistics(
            depth={priority: depth[priority] for priority in sorted(depth, reverse=True)},
            delayed=len(delayed) - len(due),
            processing=len(running),
            adds=self._adds,
            retries=self._retries,
            taken=self._taken,
            queue_seconds=self._queue_seconds,
            work_seconds=self._work_seconds,
            unfinished_work_seconds=sum(running),
            longest_running_seconds=max(running, default=0.0),
        )

    # ── ready keys ───────────────────────────────────────────────────────────────────────────

    def _place(self, entry: _Entry[K], now: float) -> None:
        """Make a key ready, or delay it."""
        if entry.at > now:
            self._delay(entry)
            return
        if entry.turn:
            entry.turn = 0
            del self._delayed[entry.key]
        key = entry.key
        self._ready[key] = entry
        self._level(entry.priority)[key] = entry
        if self._idle:
            self._idle.unpark()

    def _raise(self, entry: _Entry[K], priority: int) -> None:
        """Give a ready key a higher priority; for :meth:`_take` its time stays."""
        self._leave_level(entry)
        entry.priority = priority
        self._level(priority)[entry.key] = entry

    def _take(self, now: float) -> K:
        entry = next(iter(self._ready.values()))
        if now - entry.at < self._max_overtaking:
            entry = next(iter(self._levels[self._order[-1]].values()))
        key = entry.key
        self._unready(entry)
        self._processing[key] = _Processing(now, entry.priority, now - entry.at, entry.cause)
        self._taken += 1
        self._queue_seconds += now - entry.at
        if self._idle and (self._ready or (self._delayed and self._timer is None)):
            self._idle.unpark()  # for the next key, or to wake up for the delayed ones
        return key

    def _unready(self, entry: _Entry[K]) -> None:
        del self._ready[entry.key]
        self._leave_level(entry)

    def _level(self, priority: int) -> OrderedDict[K, _Entry[K]]:
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = OrderedDict()
            insort(self._order, priority)
        return level

    def _leave_level(self, entry: _Entry[K]) -> None:
        level = self._levels[entry.priority]
        del level[entry.key]
        if not level:
            del self._levels[entry.priority]
            self._order.remove(entry.priority)

    def _check_drained(self) -> None:
        if self._closed and not self._ready and not self._processing:
            self._drained.set()

    # ── delayed keys ─────────────────────────────────────────────────────────────────────────

    def _delay(self, entry: _Entry[K]) -> None:
        self._turns += 1
        entry.turn = self._turns
        self._delayed[entry.key] = entry
        heapq.heappush(self._times, (entry.at, entry.turn, entry))
        if len(self._times) > 2 * len(self._delayed) + 100:  # most are outdated
            self._times = [each for each in self._times if each[2].turn == each[1]]
            heapq.heapify(self._times)
        if self._timer is None:
            self._idle.unpark()
        elif entry.at < self._timer.deadline:
            self._timer.deadline = entry.at

    def _release(self, now: float) -> None:
        """Make delayed keys ready whose time has come."""
        while self._times and (self._times[0][0] <= now or self._times[0][2].turn != self._times[0][1]):
            _, turn, entry = heapq.heappop(self._times)
            if entry.turn == turn:
                self._place(entry, now)

    async def _wait(self) -> None:
        """Wait until there may be a key; one of the waiting tasks also wakes up for the next delayed key."""
        try:
            if self._timer is not None or not self._delayed:
                await self._idle.park()
            else:
                await self._wait_for_delayed()
            await trio.lowlevel.checkpoint_if_cancelled()
        except trio.Cancelled:
            self._idle.unpark()  # another task has to take the key for which this one woke up, or to wait for its time
            raise

    async def _wait_for_delayed(self) -> None:
        try:
            with trio.CancelScope(deadline=self._times[0][0]) as self._timer:
                await self._idle.park()
        finally:
            self._timer = None
