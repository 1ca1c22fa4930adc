"""Whether a reflector follows its server: pure bookkeeping over failures, successes and time.

One failure that the next attempt heals is normal for a watch. Trouble is what fails twice in a row, or again soon
after it was healed. Each success is evidence for what it needed:

=============================================  =====================================================================
success                                        heals
=============================================  =====================================================================
a complete list                                the failures of lists, and of streams that the server refused
all initial events over a stream               all failures
an event or a bookmark                         all failures
a stream that holds for a second               all failures, unless they were silence
=============================================  =====================================================================

Trouble that keeps coming back has to stay away for longer each time: then nothing counts but a stream that has held
for that long. Otherwise a stream that works for a second, or carries the same unreadable line every minute, would have
the state swing for as long as that lasts. Meanwhile the reflector goes on: what it receives is applied, and handlers
are called.
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
from dynkube.informers._transitions import StreamSilent

GOOD_WHILE = 10.0
"""Seconds after which a stream has proved to be one: its end, whatever the reason, says nothing about the next."""

_UNANSWERED = (ConnectFailed, ConnectionLost, DeadlineExceeded, StreamSilent, ConfigError)
_FIRST = 1.0  # seconds that a stream must hold after normal failures
_MEMORY = 600.0  # for how long trouble that ended is remembered
_LONGEST = 60.0  # seconds that a stream must hold at most, ...
_LONGEST_UNREADABLE = _MEMORY  # ... and where a line was unreadable: the object's writer will write it again


class Health:
    """The failures in a row, and what it takes to call them over."""

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
        """Failures without a success that heals them."""
        self._lists = 0  # those among them that a complete list heals
        self._hold = _FIRST
        self._unanswered = False  # whether the last failure was one of the connection
        self._mute = False  # streams opened, and nothing came
        self._open_since: float | None = None  # also over streams that end as they should
        self._troubled = False
        self._healed_at = -math.inf
        self._trouble_ended_at = -math.inf

    def streak_before(self, exc: DynkubeError) -> int:
        """How many failures count as having come before this one for what is done next. Called once for each failure.

        None, if it is the first answer after connections had failed: what it says (410, a version from the past) is
        news, and the failures before it say nothing about it.
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
            listing: it came while the objects were to be listed, or streamed. A stream that broke after the server had
                accepted it counts as a watch just the same.

        Returns:
            How many are to be reported as having come before it, so 0 for a normal one.
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
        """A list is complete: what kept lists from being answered is over, unless it keeps coming back."""
        if self._hold == _FIRST and self._lists == self.streak:
            self.healed(now)

    def opened(self, now: float) -> float | None:
        """A stream is open: for how long it has to hold to be a success; ``None`` if only what it sends can tell."""
        if self._open_since is None:
            self._open_since = now
        return None if self._mute else max(0.0, self._open_since + self._hold - now)

    def proven_by_words(self, now: float) -> bool:
        """Whether an event or bookmark ends the failures."""
        self._mute = False
        return self._hold == _FIRST or (self._open_since is not None and now - self._open_since >= self._hold)

    def healed(self, now: float) -> None:
        """The failures are over, if there were any: what never failed was not healed."""
        if self.streak:
            self._healed_at = now
        self.streak = self._lists = 0
        self._mute = False
        if self._troubled:
            self._troubled = False
            self._trouble_ended_at = now
