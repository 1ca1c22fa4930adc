"""Controllers: reconcile objects whenever they, or others that they depend on, change.

:class:`Controller` declares a control loop, and :func:`run` runs some. Their building blocks can be used alone: a work
queue, rate limits, and status conditions.
"""

from __future__ import annotations

from dynkube.controllers._blocking_context import BlockingContext
from dynkube.controllers._context import Context
from dynkube.controllers._controller import Controller, Reconcile
from dynkube.controllers._controller_ring import ControllerRing
from dynkube.controllers._daemons import Daemon
from dynkube.controllers._event_recorder import EventRecorder, EventRecorderStatistics
from dynkube.controllers._event_series import DropReason, EventType
from dynkube.controllers._leader_election import LeaderElector, LeadershipLost
from dynkube.controllers._lease_record import LeaderElection, LeaderElectionStatus
from dynkube.controllers._lifespan import Lifespan
from dynkube.controllers._manager import run
from dynkube.controllers._rate_limits import (
    ExponentialBackoff,
    FastSlow,
    MaxDelay,
    MaxOf,
    RateLimiter,
    TokenBucket,
    default_rate_limiter,
)
from dynkube.controllers._results import Outcome, ReconcileTimeout, Requeue, Result, StaleCache, Terminal
from dynkube.controllers._source import Source, SourceKey
from dynkube.controllers._status import ControllerPhase, ControllerStatus, KeyFailure, SourceStatus
from dynkube.controllers._status_conditions import ConditionStatus, StatusCondition, merged_conditions
from dynkube.controllers._status_server import StatusServer
from dynkube.controllers._watches import (
    CacheMapper,
    ChangePredicate,
    KeyLike,
    Mapper,
    ObjectKey,
    ReconciledObjects,
    Watch,
    all_of,
    annotations_changed,
    any_of,
    field_changed,
    generation_changed,
    labels_changed,
    to_all,
    to_index,
    to_label,
    to_owner,
    to_same_name,
)
from dynkube.controllers._work_queue import WorkQueue, WorkQueueStatistics

__all__ = [
    "BlockingContext",
    "CacheMapper",
    "ChangePredicate",
    "ConditionStatus",
    "Context",
    "Controller",
    "ControllerPhase",
    "ControllerRing",
    "ControllerStatus",
    "Daemon",
    "DropReason",
    "EventRecorder",
    "EventRecorderStatistics",
    "EventType",
    "ExponentialBackoff",
    "FastSlow",
    "KeyFailure",
    "KeyLike",
    "LeaderElection",
    "LeaderElectionStatus",
    "LeaderElector",
    "LeadershipLost",
    "Lifespan",
    "Mapper",
    "MaxDelay",
    "MaxOf",
    "ObjectKey",
    "Outcome",
    "RateLimiter",
    "Reconcile",
    "ReconcileTimeout",
    "ReconciledObjects",
    "Requeue",
    "Result",
    "Source",
    "SourceKey",
    "SourceStatus",
    "StaleCache",
    "StatusCondition",
    "StatusServer",
    "Terminal",
    "TokenBucket",
    "Watch",
    "WorkQueue",
    "WorkQueueStatistics",
    "all_of",
    "annotations_changed",
    "any_of",
    "default_rate_limiter",
    "field_changed",
    "generation_changed",
    "labels_changed",
    "merged_conditions",
    "run",
    "to_all",
    "to_index",
    "to_label",
    "to_owner",
    "to_same_name",
]
