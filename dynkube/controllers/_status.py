"""The status of a controller, as its users see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

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
class SourceStatus:
    """What a source of a controller has done in this run.

    Attributes:
        name: the name of the source.
        open: whether its stream is open; ``False`` for a source without one.
        keys: how many keys its stream has had.
        failures: how often the stream has failed or ended, and how many of its keys were invalid.
        last_error: the last of these; ``""`` if there was none.
    """

    name: str
    open: bool = False
    keys: int = 0
    failures: int = 0
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class ControllerStatus(Displayable):
    """The status and the counters of a controller; of one that runs on several clusters, a summary of these.

    In a summary, :attr:`clusters` has the status of each cluster, and with it what belongs to keys, which may have the
    same names in several clusters: ``queue``, ``running``, ``waiting_for_cache`` and ``failures`` are empty. The phase
    is that of the cluster that is furthest from reconciling, and counters are sums.

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
        sources: what its sources have done.
        cluster: the cluster whose status this is; ``""`` if the controller runs on one client.
        clusters: the status in each cluster, by name; empty if this is the status of one.
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
    sources: tuple[SourceStatus, ...] = ()
    cluster: str = ""
    clusters: Mapping[str, ControllerStatus] = field(default_factory=dict)

    def __str__(self) -> str:
        return displayed_text(self)


_FURTHEST: Final = (
    ControllerPhase.SYNCING,
    ControllerPhase.STANDBY,
    ControllerPhase.STOPPED,
    ControllerPhase.STOPPING,
    ControllerPhase.RUNNING,
)
"""The phases, those first that a summary has if one cluster has them."""


def summary_of(clusters: Mapping[str, ControllerStatus]) -> ControllerStatus:
    """Return the summary of the statuses of one controller in several clusters."""
    statuses = tuple(clusters.values())
    outcomes: Counter[Outcome] = Counter()
    for status in statuses:
        outcomes.update(status.outcomes)
    return ControllerStatus(
        statuses[0].name,
        statuses[0].resource,
        min((status.phase for status in statuses), key=_FURTHEST.index),
        "; ".join(f"{cluster}: {status.problem}" for cluster, status in clusters.items() if status.problem),
        tuple((f"{each.cluster}: {resource}", state) for each in statuses for resource, state in each.informers),
        outcomes=dict(outcomes),
        seconds=sum(status.seconds for status in statuses),
        concurrency=sum(status.concurrency for status in statuses),
        blocked_loop=sum(status.blocked_loop for status in statuses),
        function_errors=sum(status.function_errors for status in statuses),
        last_function_error=next((each.last_function_error for each in statuses if each.last_function_error), ""),
        sources=statuses[0].sources,
        clusters=dict(clusters),
    )
