"""Wakes reflectors that back off during an outage of the server, when it is over.

Each reflector doubles its own pauses, so at the end of an outage some have just started to wait for a minute. The first
reflector whose request succeeds wakes the others. Their retries are spread over a short time.
"""

from __future__ import annotations

from random import Random
from typing import Final

import trio

from dynkube.errors import (
    APIError,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    DynkubeError,
    ServerError,
    TooManyRequests,
)

_A_SECOND: Final = 20
"""Number of reflectors that are woken per second: far below the 600 requests in flight that kube-apiserver accepts (400
that read, 200 that write), as other clients reconnect as well."""

_OUTAGE: Final = (ConnectFailed, ConnectionLost, DeadlineExceeded, TooManyRequests, ServerError)


class OutageWaits:
    """Waits of a client's reflectors after failures that concern the whole server."""

    __slots__ = ("_answered", "_together", "_waiting")

    def __init__(self) -> None:
        self._answered = trio.Event()
        self._waiting = 0
        self._together = 0  # number of reflectors that were woken last time

    def answered(self) -> None:
        """Wake all waiting reflectors: a list was completed or a watch opened."""
        if self._waiting:
            self._together = self._waiting
            self._answered.set()
            self._answered = trio.Event()

    async def sleep(self, seconds: float, exc: DynkubeError, random: Random, spread: float) -> bool:
        """Wait after a failure.

        Args:
            seconds: maximum time to wait.
            exc: the failure. If it does not concern the whole server, the wait is not ended early. If it has a
                ``retry_after``, the wait is at least that long.
            random: source of jitter.
            spread: seconds over which the retries are spread; longer for very many.

        Returns:
            Whether it was woken early.
        """
        began, event = trio.current_time(), self._answered
        if not seconds or not isinstance(exc, _OUTAGE):
            await trio.sleep(seconds)
            return False
        self._waiting += 1
        try:
            with trio.move_on_at(began + seconds):
                await event.wait()
        finally:
            self._waiting -= 1
        if not event.is_set():
            return False
        asked = exc.retry_after if isinstance(exc, APIError) and exc.retry_after else 0.0
        earliest = max(trio.current_time(), began + asked)
        wake = earliest + random.uniform(0, max(spread, self._together / _A_SECOND))
        await trio.sleep_until(min(wake, began + seconds))
        return wake < began + seconds
