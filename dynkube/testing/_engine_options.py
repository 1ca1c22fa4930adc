"""How an embedded API server behaves where servers differ: the options of its engine."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from dynkube.errors import InvalidInput

ExpiredWatch: TypeAlias = Literal["event", "status"]


def _utcnow() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How an engine behaves where servers differ. Times are seconds.

    Attributes:
        watch_list: Whether watches may ask for initial events (``sendInitialEvents``, KEP-3157).
        bookmark_interval: Between bookmarks of a quiet watch that asked for them.
        establish_delay: From the creation of a CustomResourceDefinition to its condition Established; with 0 it is
            established before the next request, with ``math.inf`` never.
        expired_watch: How a watch is told that its resourceVersion is gone: ``"event"`` by an ERROR event in an
            answer of 200, as current servers do, or ``"status"`` by HTTP 410.
        history: How many of the latest changes (to whatever resource) can be asked for at least.
        min_request_timeout: Least duration of a watch without ``timeoutSeconds``; at most it lasts twice as long.
        managed_fields: Whether creates and updates are recorded in ``metadata.managedFields`` (apply always is).
        garbage_collection: Whether dependents follow their owners (``metadata.ownerReferences``). Without, as behind
            a bare API server, they stay, and an owner that is deleted in the foreground waits for ever.
        compaction_interval: Between compactions, each of which forgets history up to where it stood the time before;
            a real cluster has 300 seconds.
        event_ttl: From the last write to an Event to its end.
        now: The wall clock, for timestamps.
        random: Where UIDs, generated names and the spread of timeouts come from.
    """

    watch_list: bool = True
    bookmark_interval: float = 60.0
    establish_delay: float = 0.0
    expired_watch: ExpiredWatch = "event"
    history: int = 100_000
    min_request_timeout: float = 1800.0
    managed_fields: bool = True
    garbage_collection: bool = True
    compaction_interval: float = math.inf
    event_ttl: float = 3600.0
    now: Callable[[], datetime] = _utcnow
    random: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        if not self.bookmark_interval > 0:
            raise InvalidInput(f"bookmark_interval is {self.bookmark_interval}; give a positive number of seconds")
        if not self.establish_delay >= 0:
            raise InvalidInput(f"establish_delay is {self.establish_delay}; give 0 or a positive number of seconds")
        if not self.min_request_timeout > 0:
            raise InvalidInput(f"min_request_timeout is {self.min_request_timeout}; give a positive number of seconds")
        if not self.compaction_interval > 0:
            raise InvalidInput(f"compaction_interval is {self.compaction_interval}; give a positive number of seconds")
        if not self.event_ttl > 0:
            raise InvalidInput(f"event_ttl is {self.event_ttl}; give a positive number of seconds")
        if self.history < 1:
            raise InvalidInput(f"history is {self.history}; give a positive number of changes")
        if self.expired_watch not in {"event", "status"}:
            raise InvalidInput(f"expired_watch is {self.expired_watch!r}; give 'event' or 'status'")
