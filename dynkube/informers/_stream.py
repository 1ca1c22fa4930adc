"""How long one open watch of a reflector may be silent, and how long it may live."""

from __future__ import annotations

import math

from dynkube.client import Batches
from dynkube.informers._settings import InformerSettings
from dynkube.informers._transitions import StreamSilent


class IdleTimeout:
    """After how many seconds without an event or a bookmark a watch of one collection is taken for dead.

    Servers send bookmarks about once a minute. A resource that has never sent one may just be quiet: there the time
    doubles with each stream that was silent, until the first bookmark comes.
    """

    __slots__ = ("_settings", "bookmarked", "seconds")

    def __init__(self, settings: InformerSettings) -> None:
        self._settings = settings
        self.bookmarked = False
        """Whether this resource has bookmarks, as far as is known."""
        self.seconds = settings.silence

    def bookmark_seen(self) -> None:
        """This resource has bookmarks."""
        self.bookmarked = True
        self.seconds = self._settings.silence

    def expired(self, after: float) -> StreamSilent:
        """A watch was silent for ``after`` seconds; returns the failure."""
        if self.bookmarked:
            return StreamSilent(f"no event and no bookmark for {after:g} s")
        self.seconds = min(self.seconds * 2, self._settings.watch_timeout[1] + self._settings.watch_margin)
        return StreamSilent(f"no event for {after:g} s", certain=False)


class Stream:
    """One watch from the request to its end.

    Args:
        lifetime: seconds after which the server should have ended it by itself, and some more.
        idle: seconds without an event or a bookmark after which it is given up.
    """

    __slots__ = ("_lifetime", "_timeout", "batches", "idle", "open", "opened")

    def __init__(self, lifetime: float, idle: float) -> None:
        self._lifetime = self._timeout = lifetime
        self.idle = idle
        self.open = True
        self.opened = math.inf
        """When the server began to answer; deadlines count from there."""
        self.batches: Batches | None = None

    def limit(self, idle: float, timeout: float = math.inf) -> None:
        """Set other limits, as initial objects have; without a ``timeout``, that of its lifetime."""
        self.idle = idle
        self._timeout = min(self._lifetime, timeout)

    def deadline(self, now: float) -> float:
        """When to give up, if nothing more is received."""
        return min(now + self.idle, self.opened + self._timeout)

    def age(self, now: float) -> float:
        """For how long it has been open; negative if the server has not begun to answer."""
        return now - self.opened

    def overdue(self, now: float) -> bool:
        """Whether the server should have ended it by now."""
        return now >= self.opened + self._lifetime
