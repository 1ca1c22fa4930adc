"""ReflectorHealth of a reflector: when failures are reported, and when they count as over.

No I/O; times are arguments. A single failure after which the next attempt succeeds is normal for a watch. A persistent
failure is one that occurs twice in a row, or again soon after a success. Each kind of success ends some failures:

=============================================  =====================================================================
success                                        ends
=============================================  =====================================================================
a complete list                                the failures of lists, and of streams that the server rejected
all initial events over a stream               all failures
an event or a bookmark                         all failures
a stream that is open for a second             all failures, unless the last one was silence
=============================================  =====================================================================

If a persistent failure recurs, only a stream that stays open for some time ends it, and that time grows with each
recurrence. Otherwise the state would flap if each stream works for a second, or has the same unreadable line every
minute. Meanwhile the reflector continues: events are applied, and handlers are called.
"""

from __future__ import annotations

import math

from dynkube.errors import (
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    DynkubeError,
    UnreadableEvent,
)
from dynkube.informers._reflector.transitions import StreamSilent

GOOD_WHILE = 10.0
"""Seconds after which a stream counts as healthy: its end, for any reason, does not slow down the next one."""

_UNANSWERED = (ConnectFailed, ConnectionLost, DeadlineExceeded, StreamSilent, ConfigError)
_FIRST = 1.0  # seconds that a stream must be open after normal failures
_MEMORY = 600.0  # seconds for which an ended persistent failure is remembered
_LONGEST = 60.0  # the longest time that a stream must be open, ...
_LONGEST_UNREADABLE = _MEMORY  # ... and after an unreadable line, as the object is likely to be written like that again


class ReflectorHealth:
    """The failures in a row, and what ends them."""

    __slots__ = (
        "_healed_at",
        "_hold",
        "_lists",
        "_mute",
        "_open_since",
        "_trouble_ended_at",
        "_troubled",
        "_unanswered",
        "streak",
    )

    def __init__(self) -> None:
        self.streak = 0
        """The number of failures in a row, without a success that ends them."""
        self._lists = 0  # those among them that a complete list ends
        self._hold = _FIRST
        self._unanswered = False  # whether the last failure was one of the connection
        self._mute = False  # the last stream was open and silent
        self._open_since: float | None = None  # not reset by streams that end normally
        self._troubled = False
        self._healed_at = -math.inf
        self._trouble_ended_at = -math.inf

    def streak_before(self, exc: DynkubeError) -> int:
        """Return how many earlier failures count for the recovery from this one.

        To be called once for each failure. Returns 0 for the first response after failed connections: what it reports
        (410, an older version) is unrelated to the failures before it.
        """
        answered = not isinstance(exc, _UNANSWERED)
        first = answered and self._unanswered
        self._unanswered = not answered
        return 0 if first else self.streak

    def failed(self, exc: DynkubeError, now: float, *, listing: bool = False) -> int:
        """Count a failure.

        Args:
            exc: the failure.
            now: trio's time.
            listing: whether it occurred during a list or streaming list. A stream that broke after the server had
                accepted it counts as a watch nevertheless.

        Returns:
            The number of failures to report as having come before it; 0 for a normal one.
        """
        before = self.streak
        self.streak += 1
        self._lists += listing and self._open_since is None
        self._open_since = None
        unreadable = isinstance(exc, UnreadableEvent)
        self._mute = isinstance(exc, StreamSilent) and exc.certain
        if not self._troubled and now - self._trouble_ended_at >= _MEMORY:
            self._hold = _FIRST
        recurs = now - self._healed_at < (_MEMORY if unreadable else GOOD_WHILE)
        if before == 0 and not recurs:
            return 0
        if not self._troubled:
            self._troubled = True
            if now - self._trouble_ended_at < _MEMORY:
                self._hold = max(4 * self._hold, GOOD_WHILE)
        if recurs and before == 0:
            self._hold = max(self._hold, GOOD_WHILE)
        self._hold = min(self._hold, _LONGEST_UNREADABLE if unreadable else _LONGEST)
        return max(before, 1)

    def listed(self, now: float) -> None:
        """Note a complete list: it ends failures of lists, unless they recur."""
        if self._hold == _FIRST and self._lists == self.streak:
            self.healed(now)

    def opened(self, now: float) -> float | None:
        """Note an open stream.

        Returns:
            Seconds for which it must stay open to be a success; ``None`` if only an event or bookmark can prove that.
        """
        if self._open_since is None:
            self._open_since = now
        return None if self._mute else max(0.0, self._open_since + self._hold - now)

    def proven_by_event(self, now: float) -> bool:
        """Return whether an event or bookmark ends the failures."""
        self._mute = False
        return self._hold == _FIRST or (self._open_since is not None and now - self._open_since >= self._hold)

    def healed(self, now: float) -> None:
        """End the failures, if there were any."""
        if self.streak:
            self._healed_at = now
        self.streak = self._lists = 0
        self._mute = False
        if self._troubled:
            self._troubled = False
            self._trouble_ended_at = now
