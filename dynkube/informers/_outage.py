"""Waiting for a server together: the reflectors of one client that an outage has sent to wait, woken when it is over.

Each reflector doubles its pauses for itself, so that at the end of an outage some have just begun to wait for a minute.
The first one whose request gets through knows more than the others: it wakes them, spread over a short time.
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
"""How many are woken a second, about: far below the 600 requests that kube-apiserver takes at a time (400 that read and
200 that write), as other clients come back as well."""

_OUTAGE: Final = (ConnectFailed, ConnectionLost, DeadlineExceeded, TooManyRequests, ServerError)


class OutageWaits:
    """The waits of all reflectors of one client after failures that are the server's and not those of one resource."""

    __slots__ = ("_answered", "_together", "_waiting")

    def __init__(self) -> None:
        self._answered = trio.Event()
        self._waiting = 0
        self._together = 0  # how many were woken at once, last time

    def answered(self) -> None:
        """A list was complete, or a watch was opened: have all who wait try again soon. Plain."""
        if self._waiting:
            self._together = self._waiting
            self._answered.set()
            self._answered = trio.Event()

    async def sleep(self, seconds: float, exc: DynkubeError, random: Random, spread: float) -> bool:
        """Wait after a failure.

        Args:
            seconds: how long at most.
            exc: the failure. One that is not about the server as a whole is waited for to the end; one with a
                ``retry_after``, at least for that long.
            random: draws the moment within the spread.
            spread: seconds over which those who wait come back, or more where they are very many.

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
