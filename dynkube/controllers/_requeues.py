"""When a key is reconciled again: after a change, after a result, and after its own writes.

Nothing else adds keys to the queue, but for those that have waited for a cache (``_own_writes``). So it can be seen
here that no key is reconciled again and again without a pause:

======================  ==============================================================
the key is added for    and waits
======================  ==============================================================
a change by another     for what is left of ``debounce``; without that, not at all
an object as listed     not at all
a source                as long as that says
a failure               for the back-off of its failures
its own write           for what is left of that; if it did not fail, as for a change the
                        first time, and then at least for the back-off of its writes
                        (`Echoes`)
the finalizer, added    the same, without ``debounce``
``Requeue``             as long as it says
======================  ==============================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, TypeAlias

import trio

from dynkube.controllers._rate_limits import ExponentialBackoff
from dynkube.controllers._results import Outcome, Requeue
from dynkube.controllers._watches import ObjectKey
from dynkube.controllers._work_queue import Cause, WorkQueue
from dynkube.meta import Unstructured

_INITIAL: Final = 0.005  # seconds before the second reconcile in a row that follows from nothing but own writes
_CAP: Final = 60.0
_REMEMBERED: Final = 1000
"""Changes and own writes that are compared for one call. Others count as changes by others, which are never delayed."""

Change: TypeAlias = tuple[str, str]
"""A state of an object that was written, or that an informer shows: UID, and resourceVersion, ``""`` if deleted."""


def _change_of(old: Unstructured | None, new: Unstructured | None) -> Change:
    """Return what an informer shows.

    Args:
        old: the object before; ``None`` if it was added.
        new: the object after; ``None`` if it was deleted.
    """
    if new is not None:
        return new.uid, new.resource_version
    return ("" if old is None else old.uid), ""


class Next(Enum):
    """When a key is reconciled again after a call, if nothing changes."""

    NEVER = auto()
    WHEN_IT_SAYS = auto()
    AFTER_ITS_WRITE = auto()
    AFTER_BACKOFF = auto()


NEXT: Final[Mapping[Outcome, Next]] = MappingProxyType(
    {
        Outcome.SUCCESS: Next.NEVER,
        Outcome.TERMINAL: Next.NEVER,
        Outcome.STOPPED: Next.NEVER,
        Outcome.REQUEUE_AFTER: Next.WHEN_IT_SAYS,
        Outcome.REQUEUE: Next.AFTER_ITS_WRITE,
        Outcome.CONFLICT: Next.AFTER_BACKOFF,
        Outcome.ERROR: Next.AFTER_BACKOFF,
        Outcome.TIMEOUT: Next.AFTER_BACKOFF,
    }
)
"""What follows from each outcome."""


@dataclass(slots=True)
class _During:
    """What has changed while a key was processed.

    Attributes:
        priority: the highest priority of these changes.
        since: when the first one was.
        changes: the first of them.
        too_many: whether there are more, of which it is not known whether they are own writes.
    """

    priority: int
    since: float
    changes: set[Change] = field(default_factory=set)
    too_many: bool = False

    def add(self, change: Change, priority: int) -> None:
        self.priority = max(self.priority, priority)
        if len(self.changes) < _REMEMBERED:
            self.changes.add(change)
        else:
            self.too_many = True


class Requeues:
    """Adds keys to the queue of one controller.

    Args:
        queue: the queue.
        echoes: the own writes of the keys.
    """

    def __init__(self, queue: WorkQueue[ObjectKey], echoes: Echoes) -> None:
        self._queue = queue
        self._echoes = echoes
        self._during: dict[ObjectKey, _During] = {}  # changes of keys while they are processed

    def changed(
        self,
        key: ObjectKey,
        old: Unstructured | None,
        new: Unstructured | None,
        priority: int,
        *,
        listed: bool = False,
    ) -> None:
        """Add a key after a change of an object: its own, or another one that concerns it.

        Args:
            key: the key.
            old: the object before; ``None`` if it was added.
            new: the object after; ``None`` if it was deleted.
            priority: of the key.
            listed: whether nothing has changed: it is an initial object, or a resync.
        """
        change = _change_of(old, new)
        since = -math.inf if listed else trio.current_time()
        if self._queue._is_processing(key):
            # Its own write may be shown before its response arrives: what this is can only be said when the call ends.
            self._during.setdefault(key, _During(priority, since)).add(change, priority)
        else:
            self._add(key, priority, since, echo=self._echoes.has(key, change))

    def requested(self, key: ObjectKey, priority: int, after: float) -> None:
        """Add a key that a source has asked for."""
        self._queue.add(key, priority=priority, after=after)

    def thread_ended(self, key: ObjectKey) -> None:
        """Add a key that has waited for a thread of an earlier run."""
        self._queue._add(key, Cause.CHANGE, 0)

    def object_known(self, key: ObjectKey) -> None:
        """Add the key of a daemon of which it was not known whether its object exists."""
        self._queue.add(key)

    def done(self, key: ObjectKey) -> None:
        """End the processing of a key, also if its call did not end, or never began."""
        if (during := self._during.pop(key, None)) is not None:
            echo = not during.too_many and all(self._echoes.has(key, change) for change in during.changes)
            self._add(key, during.priority, during.since, echo=echo)
        self._queue.done(key)

    def _add(self, key: ObjectKey, priority: int, since: float, *, echo: bool) -> None:
        cause, after = (Cause.ECHO, self._echoes.delay(key)) if echo else (Cause.CHANGE, 0.0)
        self._queue._add_change(key, cause, priority, after, since)

    def ended(self, key: ObjectKey, outcome: Outcome, result: object) -> None:
        """Add a key again after a call, if that follows from how it ended. Called while it is being processed."""
        priority = self._queue.priority(key)
        if NEXT[outcome] is not Next.AFTER_BACKOFF:
            self._echoes.ended(key, by_change=self._queue._cause(key) is Cause.CHANGE)
        match NEXT[outcome]:
            case Next.NEVER:
                self._queue.forget(key)
            case Next.WHEN_IT_SAYS:
                assert isinstance(result, Requeue)
                self._queue.forget(key)
                requested = priority if result.priority is None else result.priority
                self._queue._add(key, Cause.TIMER, requested, result.after)
            case Next.AFTER_ITS_WRITE:  # not left to the informer: a predicate may ignore the change
                self._queue._add(key, Cause.ECHO, priority, self._echoes.delay(key))
            case Next.AFTER_BACKOFF:
                self._queue.add_rate_limited(key, priority=priority)


# ── own writes ───────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Writes:
    """What a key has written."""

    before: set[Change] = field(default_factory=set)  # in the call before
    now: set[Change] = field(default_factory=set)  # since its last call began


class Echoes:
    """The own writes of the keys of one controller.

    A reconcile is called again when the informer shows what it has written, and then should find nothing to write. One
    that writes each time, such as a time or a count, would be called without end: from the second such call in a row it
    waits 5 ms, and twice that each further time, up to a minute. What others change is not delayed, and ends the row.
    """

    def __init__(self) -> None:
        self._writes: dict[ObjectKey, _Writes] = {}
        self._backoff: ExponentialBackoff[ObjectKey] = ExponentialBackoff(_INITIAL, _CAP)
        self._delays: dict[ObjectKey, float] = {}

    def began(self, key: ObjectKey) -> None:
        """Begin a call."""
        if (writes := self._writes.get(key)) is not None:
            writes.before, writes.now = writes.now, set()

    def wrote(self, key: ObjectKey, obj: Unstructured) -> None:
        """Remember an object as the key has written it."""
        self._remember(key, (obj.uid, obj.resource_version))

    def deleted(self, key: ObjectKey, uid: str) -> None:
        """Remember an object that the key has deleted."""
        self._remember(key, (uid, ""))

    def _remember(self, key: ObjectKey, write: Change) -> None:
        now = self._writes.setdefault(key, _Writes()).now
        if len(now) < _REMEMBERED:
            now.add(write)

    def ended(self, key: ObjectKey, *, by_change: bool) -> None:
        """End a call that did not fail.

        Args:
            key: its key.
            by_change: whether others have changed something; otherwise it was called because of its own writes, because
                it had failed, or at the time that it had said.
        """
        writes = self._writes.get(key)
        if writes is None or not writes.now:
            self.forget(key)
        elif not by_change:
            self._delays[key] = self._backoff.delay(key, 0.0)
        elif self._delays.pop(key, None) is not None:
            self._backoff.forget(key)

    def forget(self, key: ObjectKey) -> None:
        """Forget a key that is not needed any more."""
        self._writes.pop(key, None)
        self._delays.pop(key, None)
        self._backoff.forget(key)

    def has(self, key: ObjectKey, change: Change) -> bool:
        """Return whether a change is one that the key has made itself, as far as it has had the response."""
        writes = self._writes.get(key)
        return writes is not None and (change in writes.now or change in writes.before)

    def delay(self, key: ObjectKey) -> float:
        """Return the seconds for which a key waits after a change of its own."""
        return self._delays.get(key, 0.0)
