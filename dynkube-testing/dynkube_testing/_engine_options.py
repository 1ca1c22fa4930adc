"""Options of the embedded API server's engine."""

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
    """Options for behavior that differs between API servers. Times are in seconds.

    Attributes:
        watch_list: Whether watches may request initial events (``sendInitialEvents``, KEP-3157).
        bookmark_interval: Time between the bookmarks sent to an idle watch with ``allowWatchBookmarks``.
        establish_delay: Time from the creation of a CustomResourceDefinition to its condition Established. With 0 it is
            Established before the next request is handled; with ``math.inf`` never.
        expired_watch: How an expired resourceVersion is reported to a watch: ``"event"`` is an ERROR event in a 200
            response, as current servers send it, ``"status"`` is HTTP 410.
        history: Minimum number of past changes (of all resources together) from which a watch can still start.
        min_request_timeout: Minimum duration of a watch without ``timeoutSeconds``. The actual duration is random, up
            to twice as long.
        managed_fields: Whether creates and updates are recorded in ``metadata.managedFields`` (apply always is).
        garbage_collection: Whether dependents are deleted after their owners (``metadata.ownerReferences``). Without
            it, as with a kube-apiserver alone, they stay, and foreground deletion of an owner never completes.
        compaction_interval: Time between compactions, each of which discards the revisions before the previous one;
            a real cluster uses 300 seconds.
        event_ttl: Time from the last write to an Event until it is removed.
        now: Wall clock for timestamps.
        random: Source of UIDs, generated names and timeout jitter.
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
            raise InvalidInput(f"bookmark_interval is {self.bookmark_interval}: pass a positive number of seconds")
        if not self.establish_delay >= 0:
            raise InvalidInput(f"establish_delay is {self.establish_delay}: pass 0 or a positive number of seconds")
        if not self.min_request_timeout > 0:
            raise InvalidInput(f"min_request_timeout is {self.min_request_timeout}: pass a positive number of seconds")
        if not self.compaction_interval > 0:
            raise InvalidInput(f"compaction_interval is {self.compaction_interval}: pass a positive number of seconds")
        if not self.event_ttl > 0:
            raise InvalidInput(f"event_ttl is {self.event_ttl}: pass a positive number of seconds")
        if self.history < 1:
            raise InvalidInput(f"history is {self.history}: pass a positive number of changes")
        if self.expired_watch not in {"event", "status"}:
            raise InvalidInput(f"expired_watch is {self.expired_watch!r}: pass 'event' or 'status'")
