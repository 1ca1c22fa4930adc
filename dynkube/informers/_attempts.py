"""A reflector's attempts to list and to watch: what they come to in numbers, and what observers are told of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import trio

from dynkube.telemetry import Collection, Hook, ReflectorOutcome

Started: TypeAlias = tuple[Hook[[Collection], None], ...]
Finished: TypeAlias = tuple[Hook[[Collection, ReflectorOutcome], None], ...]


@dataclass(slots=True)
class ReflectorStatistics:
    """A reflector in numbers. Times are those of trio's clock."""

    lists: int = 0
    watches: int = 0
    restarts: int = 0
    events: int = 0
    bookmarks: int = 0
    failures: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    last_activity: float = -math.inf
    last_event: float = -math.inf

    def lag(self, now: float) -> float | None:
        """Seconds since the server was last heard of; ``None`` before that."""
        return None if self.last_activity == -math.inf else now - self.last_activity


@dataclass(slots=True)
class Attempt:
    """One list or watch, while it lasts."""

    items: int = 0
    """How many objects a list gave; the events of a watch are counted by the statistics."""


@contextmanager
def told(
    started: Started,
    finished: Finished,
    collection: Collection,
    statistics: ReflectorStatistics,
    version: Callable[[], str],
) -> Iterator[Attempt]:
    """Tell observers of the list or watch that the block is, however it ends.

    Args:
        started: called before it.
        finished: called after it, with what came of it.
        collection: what is listed or watched.
        statistics: count the events that come meanwhile.
        version: gives the last resourceVersion seen.
    """
    attempt = Attempt()
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
