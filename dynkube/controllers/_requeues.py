"""When a key is reconciled again: after a change, after a result, and after its own writes.

Nothing else adds keys to the queue, but for those that have waited for a cache (``_own_writes``). So it can be seen
here that no key is reconciled again and again without a pause:

======================  ==============================================================
the key is added for    and waits
======================  ==============================================================
a change by another     not at all
a failure               for the back-off of its failures
its own write           for what is left of that; if it did not fail, not at all the
                        first time, and then for the back-off of its writes (`Echoes`)
the finalizer, added    the same
``Requeue``             as long as it says
======================  ==============================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from dynkube.controllers._echoes import REMEMBERED, Change, Echoes, change_of
from dynkube.controllers._results import Outcome, Requeue
from dynkube.controllers._watches import ObjectKey
from dynkube.controllers._work_queue import Cause, WorkQueue
from dynkube.meta import Unstructured


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
        changes: the first of them.
        too_many: whether there are more, of which it is not known whether they are own writes.
    """

    priority: int
    changes: set[Change] = field(default_factory=set)
    too_many: bool = False

    def add(self, change: Change, priority: int) -> None:
        self.priority = max(self.priority, priority)
        if len(self.changes) < REMEMBERED:
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

    def changed(self, key: ObjectKey, old: Unstructured | None, new: Unstructured | None, priority: int) -> None:
        """Add a key after a change of an object: its own, or another one that concerns it."""
        change = change_of(old, new)
        if self._queue._is_processing(key):
            # Its own write may be shown before its response arrives: what this is can only be said when the call ends.
            self._during.setdefault(key, _During(priority)).add(change, priority)
        else:
            self._add(key, priority, echo=self._echoes.has(key, change))

    def thread_ended(self, key: ObjectKey) -> None:
        """Add a key that has waited for a thread of an earlier run."""
        self._queue.add(key)

    def done(self, key: ObjectKey) -> None:
        """End the processing of a key, also if its call did not end, or never began."""
        if (during := self._during.pop(key, None)) is not None:
            echo = not during.too_many and all(self._echoes.has(key, change) for change in during.changes)
            self._add(key, during.priority, echo=echo)
        self._queue.done(key)

    def _add(self, key: ObjectKey, priority: int, *, echo: bool) -> None:
        if echo:
            self._queue._add(key, Cause.ECHO, priority, self._echoes.delay(key))
        else:
            self._queue.add(key, priority=priority)

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
