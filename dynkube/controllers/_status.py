"""The status of a controller, as its users see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dynkube._displayable import Displayable, displayed_text
from dynkube.controllers._results import Outcome
from dynkube.controllers._watches import ObjectKey
from dynkube.controllers._work_queue import WorkQueueStatistics
from dynkube.informers import State


class ControllerPhase(StrEnum):
    """What a controller is doing."""

    STOPPED = "Stopped"
    """It does not run."""
    SYNCING = "Syncing"
    """It waits for the initial objects of its informers."""
    STANDBY = "Standby"
    """Its informers are synced, and another process is the leader, or has the Lease of this shard.

    Also after this process has taken over, while its caches do not show what the leader before has written.
    """
    RUNNING = "Running"
    """It reconciles."""
    STOPPING = "Stopping"
    """It starts no more calls, and waits for those that run."""


@dataclass(frozen=True, slots=True)
class KeyFailure:
    """The last failure of a key that has not succeeded since.

    Attributes:
        key: the key.
        outcome: how its last call ended.
        failures: how often it has failed since it last succeeded.
        error: type and message of the exception.
    """

    key: ObjectKey
    outcome: Outcome
    failures: int
    error: str


@dataclass(frozen=True, slots=True)
class ControllerStatus(Displayable):
    """The status and the counters of a controller.

    Attributes:
        name: the name of the controller.
        resource: the reconciled resource.
        phase: what it is doing.
        problem: why an informer cannot be opened, why the lease cannot be read or written, or why no objects are
            assigned to this shard; ``""`` if nothing is known.
        informers: the state of each informer, by resource.
        queue: the state and the counters of its work queue; ``None`` unless it runs.
        running: the keys that are being reconciled, with the seconds since when.
        waiting_for_cache: the keys that wait until a cache shows what they have written, or whether their object still
            exists, with the seconds since when.
        outcomes: how many calls ended in which way.
        failures: the keys that failed last; at most 100.
        seconds: how long all calls have taken together.
        concurrency: how many keys may be reconciled at a time.
        blocked_loop: how often a reconcile, a mapper or a predicate has blocked the event loop for more than a second.
        function_errors: exceptions of mappers and predicates.
        last_function_error: the last of these.
    """

    name: str
    resource: str
    phase: ControllerPhase = ControllerPhase.STOPPED
    problem: str = ""
    informers: tuple[tuple[str, State], ...] = ()
    queue: WorkQueueStatistics | None = None
    running: Mapping[ObjectKey, float] = field(default_factory=dict)
    waiting_for_cache: Mapping[ObjectKey, float] = field(default_factory=dict)
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    failures: tuple[KeyFailure, ...] = ()
    seconds: float = 0.0
    concurrency: int = 1
    blocked_loop: int = 0
    function_errors: int = 0
    last_function_error: str = ""

    def __str__(self) -> str:
        return displayed_text(self)
