"""Detection of system suspend, after which connections are replaced.

Deadlines use the monotonic clock, which is not affected by changes of the wall clock. On Linux and macOS it stops while
the machine is suspended. So after a night of suspend it would take another minute and a half to detect a dead watch,
and caches would be outdated meanwhile. The suspend time is read from the kernel, as the wall clock also changes when it
is corrected. On Windows the monotonic clock does not stop, and deadlines expire by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import trio

_LOOK_EVERY = 10.0
_LONG = 10.0  # seconds; a shorter suspend does not break connections


def seconds_suspended() -> float:
    """Return the seconds this machine was suspended since boot.

    0.0 where the kernel does not report it.
    """
    with_sleep = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    without = getattr(time, "CLOCK_MONOTONIC", None)
    if with_sleep is None:
        with_sleep, without = without, getattr(time, "CLOCK_UPTIME_RAW", None)  # macOS
    if with_sleep is None or without is None:
        return 0.0
    return time.clock_gettime(with_sleep) - time.clock_gettime(without)


async def notice_suspension(suspended: Callable[[], float], then: Callable[[float], Awaitable[None]]) -> None:
    """Call ``then`` after each long suspend, with its seconds. Runs until cancelled.

    A suspend of at least 10 s is noticed within 10 s of its end.

    Args:
        suspended: a function like :func:`seconds_suspended`.
        then: the callback.
    """
    before = suspended()
    while True:
        await trio.sleep(_LOOK_EVERY)
        now = suspended()
        if now - before >= _LONG:
            await then(now - before)
        before = now
