"""Whether a reflector may be believed to follow its server: pure bookkeeping over failures, words and time.

One failure that the next attempt heals is everyday life of a watch. Trouble is what fails twice in a row, or again
soon after it was healed. Trouble that keeps coming back has to stay away for longer each time before it counts as
over; else a stream that works for a second, or carries the same unreadable line every minute, would have the state
swing for as long as that lasts. While it waits for that the reflector does all it can: what comes is stored and told.
"""

from __future__ import annotations

import math

from dynkube.errors import DynkubeError, UnreadableEvent
from dynkube.informers._recovery import StreamSilent

GOOD_WHILE = 10.0
"""Seconds after which a stream has proved to be one: its end, whatever the reason, says nothing about the next."""

_FIRST = 1.0  # seconds that a stream must hold after everyday failures
_MEMORY = 600.0  # for how long trouble that ended is remembered
_LONGEST = 60.0  # seconds that a stream must hold at most, ...
_LONGEST_UNREADABLE = _MEMORY  # ... and where a line was unreadable: whoever wrote that object will write it again


class Health:
    """The failures in a row, and what it takes to call them over."""

    __slots__ = ("_healed_at", "_hold", "_mute", "_open_since", "_trouble_ended_at", "_troubled", "streak")

    def __init__(self) -> None:
        self.streak = 0
        """Failures without a proven success after them."""
        self._hold = _FIRST
        self._mute = False  # streams opened, and said nothing
        self._open_since: float | None = None  # also over streams that end as they should
        self._troubled = False
        self._healed_at = -math.inf
        self._trouble_ended_at = -math.inf

    def failed(self, exc: DynkubeError, now: float) -> int:
        """Count a failure; returns how many are to be shown as having come before it, so 0 for an everyday one."""
        before = self.streak
        self.streak += 1
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

    def opened(self, now: float) -> float | None:
        """A stream is open: for how long it has to hold to be a success; ``None`` if only what it says can tell."""
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
        self.streak = 0
        self._mute = False
        if self._troubled:
            self._troubled = False
            self._trouble_ended_at = now
