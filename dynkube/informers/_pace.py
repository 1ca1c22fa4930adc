"""How long a reflector pauses: after a failure, and between watches that the server ends."""

from __future__ import annotations

from dynkube.errors import APIError, DynkubeError, EndlessList
from dynkube.informers._health import GOOD_WHILE
from dynkube.informers._recovery import Recovery
from dynkube.informers._settings import InformerSettings
from dynkube.informers._transitions import StreamCutShort
from dynkube.rest import Backoff

_AT_ONCE = 1.0  # seconds; a watch that ends sooner, and without news, does not count as one
_MANY_SHORT = 3  # so many short watches in a row are a failure
_PUNCTUAL = 1.0  # the server counts from a little earlier than we do: so much before its time is not early


class Pace:
    """The pauses of one reflector. Time comes from outside."""

    __slots__ = ("_backoff", "_endless", "_missing", "_settings", "_short")

    def __init__(self, settings: InformerSettings) -> None:
        self._settings = settings
        self._backoff = Backoff(random=settings.random)
        # A resource that was just created is often not served for a moment: look again sooner.
        self._missing = Backoff(initial=0.2, random=settings.random)
        # Such a list has cost the server and the network as much as it may, and the next one costs as much again.
        self._endless = Backoff(initial=30.0, cap=600.0, reset_after=7200.0, random=settings.random)
        self._short = 0  # watches in a row that the server ended within a good while

    def after_failure(self, exc: DynkubeError, recovery: Recovery, now: float) -> float:
        """Seconds until the next attempt."""
        if recovery.immediate:
            return 0.0
        if isinstance(exc, EndlessList):
            return self._endless.next(now)
        backoff = self._missing if recovery.missing else self._backoff
        return backoff.next(now, asked=exc.retry_after if isinstance(exc, APIError) else None)

    def after_end(self, age: float, lifetime: float, now: float, *, news: bool) -> float:
        """Seconds until the next watch, after the server ended one cleanly.

        Args:
            age: for how long it was open.
            lifetime: for how long the server was asked to keep it open.
            now: trio's time.
            news: whether anything came.

        Raises:
            StreamCutShort: that end was a failure.
        """
        if age < _AT_ONCE and not news:
            raise StreamCutShort("the server ended the watch at once, without any news")
        if age >= GOOD_WHILE:
            self.held()
            self._short = 0
            # A server that shuts down ends all watches before their time: they are not to come back together.
            early = age < int(lifetime) - _PUNCTUAL
            return self._settings.random.uniform(0, self._settings.reconnect_spread) if early else 0.0
        self._short += 1
        if self._short >= _MANY_SHORT:
            raise StreamCutShort(f"the server ends one watch after the other within {GOOD_WHILE:g} s")
        return self._backoff.next(now)

    def held(self) -> None:
        """A watch held for a good while: its end says nothing about the next one, which need not come late."""
        self._backoff.reset()

    def served(self) -> None:
        """The resource is served."""
        self._missing.reset()
