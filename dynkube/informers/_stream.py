"""One open watch of a reflector: its deadlines, and what is known of it."""

from __future__ import annotations

import math

from dynkube.client import Batches
from dynkube.meta import Key, Unstructured


class Stream:
    """A watch from being asked for to its end.

    Args:
        lifetime: seconds after which the server should have ended it by itself, and some more.
        silence: seconds without a word after which it is given up.
    """

    __slots__ = ("_lifetime", "_timeout", "batches", "initial", "open", "opened", "silence")

    def __init__(self, lifetime: float, silence: float) -> None:
        self._lifetime = self._timeout = lifetime
        self.silence = silence
        self.open = True
        self.opened = math.inf
        """When the server began to answer; deadlines count from there."""
        self.initial: dict[Key, Unstructured] | None = None
        """The initial objects so far, while a streaming list has not ended."""
        self.batches: Batches | None = None

    def expect_initial(self, silence: float, timeout: float) -> None:
        """The stream begins with a list, which is given less patience."""
        self.initial = {}
        self.silence = silence
        self._timeout = min(self._lifetime, timeout)

    def end_seen(self, silence: float) -> None:
        """The list ended; from here it is a watch."""
        self.silence = silence
        self._timeout = self._lifetime

    def deadline(self, now: float) -> float:
        """When to give up, if nothing more is heard."""
        return min(now + self.silence, self.opened + self._timeout)

    def age(self, now: float) -> float:
        """For how long it has been open; negative if the server has not begun to answer."""
        return now - self.opened

    def overdue(self, now: float) -> bool:
        """Whether the server should have ended it by now."""
        return self.initial is None and now >= self.opened + self._lifetime
