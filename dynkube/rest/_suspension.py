"""A machine that was asleep: connections from before it are given up instead of trusted.

Deadlines are on the monotonic clock, which no setting of the wall clock moves. On Linux and macOS that clock stands
still in suspend, so a laptop that slept all night would give a dead watch another minute and a half, and meanwhile
show what was true yesterday. Kernels know for how long they slept: that is asked, and not the wall clock, which also
jumps when somebody corrects it. On Windows the clock goes on in sleep, and deadlines pass by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import trio

_LOOK_EVERY = 10.0
_LONG = 10.0  # shorter than that, peers and whatever is between keep a connection


def seconds_suspended() -> float:
    """For how long this machine has been suspended since it started; a constant where the kernel does not tell."""
    with_sleep = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    without = getattr(time, "CLOCK_MONOTONIC", None)
    if with_sleep is None:
        with_sleep, without = without, getattr(time, "CLOCK_UPTIME_RAW", None)  # macOS
    if with_sleep is None or without is None:
        return 0.0
    return time.clock_gettime(with_sleep) - time.clock_gettime(without)


async def notice_suspension(suspended: Callable[[], float], then: Callable[[float], Awaitable[None]]) -> None:
    """Call ``then`` with the seconds after each long sleep, some seconds after the end of it. Runs until cancelled.

    Args:
        suspended: as :func:`seconds_suspended`.
        then: what to do.
    """
    before = suspended()
    while True:
        await trio.sleep(_LOOK_EVERY)
        now = suspended()
        if now - before >= _LONG:
            await then(now - before)
        before = now
