"""Building blocks of controllers: a work queue, rate limits for what failed, and status conditions."""

from __future__ import annotations

from dynkube.controllers._rate_limits import (
    ExponentialBackoff,
    FastSlow,
    MaxDelay,
    MaxOf,
    RateLimiter,
    TokenBucket,
    default_rate_limiter,
)
from dynkube.controllers._status_conditions import ConditionStatus, StatusCondition, merged_conditions
from dynkube.controllers._work_queue import WorkQueue, WorkQueueStatistics

__all__ = [
    "ConditionStatus",
    "ExponentialBackoff",
    "FastSlow",
    "MaxDelay",
    "MaxOf",
    "RateLimiter",
    "StatusCondition",
    "TokenBucket",
    "WorkQueue",
    "WorkQueueStatistics",
    "default_rate_limiter",
    "merged_conditions",
]
