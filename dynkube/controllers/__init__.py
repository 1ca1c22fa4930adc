"""Building blocks of controllers: a work queue, and rate limits for what failed."""

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
from dynkube.controllers._work_queue import WorkQueue, WorkQueueStatistics

__all__ = [
    "ExponentialBackoff",
    "FastSlow",
    "MaxDelay",
    "MaxOf",
    "RateLimiter",
    "TokenBucket",
    "WorkQueue",
    "WorkQueueStatistics",
    "default_rate_limiter",
]
