"""Deadlines of one watch of a reflector: idle time and total time."""

from __future__ import annotations

import math

from dynkube.client._batches import Batches
from dynkube.informers._reflector.transitions import StreamSilent
from dynkube.informers._settings import InformerSettings


class IdleTimeout:
    """Seconds without an event or bookmark after which a watch is considered dead.

    Most servers send a bookmark about once a minute, even if nothing changes. Some send none, and then a silent watch
    may only mean that nothing has changed. So the timeout of a resource doubles after each silent watch, until the
    first bookmark.
    """

    __slots__ = ("_settings", "bookmarked", "seconds")

    def __init__(self, settings: InformerSettings) -> None:
        self._settings = settings
        self.bookmarked = False
        """Whether a bookmark of this resource was ever received."""
        self.seconds = settings.watch_idle_timeout

    def bookmark_seen(self) -> None:
        """Record that this resource has bookmarks, and reset the timeout."""
        self.bookmarked = True
        self.seconds = self._settings.watch_idle_timeout

    def expired(self, after: float) -> StreamSilent:
        """Return the error for a watch that was silent for ``after`` seconds."""
        if self.bookmarked:
            return StreamSilent(f"no event and no bookmark for {after:g} s")
        self.seconds = min(self.seconds * 2, self._settings.watch_timeout[1] + self._settings.watch_margin)
        return StreamSilent(f"no event for {after:g} s", certain=False)


class Stream:
    """One watch, from the request to its end.

    Args:
        lifetime: seconds after which the server should have ended the watch, with a margin.
        idle: seconds without an event or bookmark after which the client gives up the watch.
    """

    __slots__ = ("_lifetime", "_timeout", "batches", "idle", "open", "opened")

    def __init__(self, lifetime: float, idle: float) -> None:
        self._lifetime = self._timeout = lifetime
        self.idle = idle
        self.open = True
        self.opened = math.inf
        """When the response began; the lifetime counts from then."""
        self.batches: Batches | None = None

    def limit(self, idle: float, timeout: float = math.inf) -> None:
        """Set other limits, for the time in which initial objects are received.

        Args:
            idle: as for the class.
            timeout: seconds in total, at most the lifetime.
        """
        self.idle = idle
        self._timeout = min(self._lifetime, timeout)

    def deadline(self, now: float) -> float:
        """Return when to give up if nothing more is received."""
        return min(now + self.idle, self.opened + self._timeout)

    def age(self, now: float) -> float:
        """Return the seconds since the response began; negative before that."""
        return now - self.opened

    def overdue(self, now: float) -> bool:
        """Return whether the server should have ended the watch by now."""
        return now >= self.opened + self._lifetime
