"""Counters of a reflector, and calls of observers for its lists and watches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import trio

from dynkube.telemetry import Collection, ReflectorOutcome
from dynkube.telemetry._observers import Hook

Started: TypeAlias = tuple[Hook[[Collection], None], ...]
Finished: TypeAlias = tuple[Hook[[Collection, ReflectorOutcome], None], ...]


@dataclass(slots=True)
class ReflectorStatistics:
    """Counters of a reflector. Times are on trio's clock."""

    listed: int = 0
    """Objects received so far by the list or streaming list in progress; 0 while no list is in progress."""
    lists: int = 0
    watches: int = 0
    restarts: int = 0
    events: int = 0
    bookmarks: int = 0
    failures: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    last_activity: float = -math.inf
    last_event: float = -math.inf

    @classmethod
    def total(cls, several: Sequence[ReflectorStatistics]) -> ReflectorStatistics:
        """Return the sum; the last activity is the earliest of those that have had any, so that lag is the longest."""
        active = [each.last_activity for each in several if each.last_activity > -math.inf]
        return cls(
            listed=sum(each.listed for each in several),
            lists=sum(each.lists for each in several),
            watches=sum(each.watches for each in several),
            restarts=sum(each.restarts for each in several),
            events=sum(each.events for each in several),
            bookmarks=sum(each.bookmarks for each in several),
            failures=sum(each.failures for each in several),
            reasons=sum((each.reasons for each in several), Counter()),
            last_activity=min(active, default=-math.inf),
            last_event=max((each.last_event for each in several), default=-math.inf),
        )

    def lag(self, now: float) -> float | None:
        """Return the seconds since anything was received; ``None`` before the first time."""
        return None if self.last_activity == -math.inf else now - self.last_activity


@dataclass(slots=True)
class ReflectorAttempt:
    """One list or watch in progress."""

    items: int = 0
    """The number of objects listed; the events of a watch are counted in ``ReflectorStatistics``."""


@contextmanager
def observed(
    started: Started,
    finished: Finished,
    collection: Collection,
    statistics: ReflectorStatistics,
    version: Callable[[], str],
) -> Iterator[ReflectorAttempt]:
    """Call observers before and after the block, which is one list or watch.

    Args:
        started: hooks to call before it.
        finished: hooks to call after it with the outcome, also if it raises.
        collection: the collection that is listed or watched.
        statistics: the counters, from which the number of received events is taken.
        version: returns the last resourceVersion received.
    """
    attempt = ReflectorAttempt()
    if not (started or finished):
        yield attempt
        return
    began, before = trio.current_time(), statistics.events
    error: BaseException | None = None
    for hook in started:
        hook(collection)
    try:
        yield attempt
    except BaseException as exc:
        error = exc
        raise
    finally:
        outcome = ReflectorOutcome(
            items=attempt.items + statistics.events - before,
            seconds=trio.current_time() - began,
            resource_version=version(),
            error=error,
        )
        for ended in finished:
            ended(collection, outcome)
