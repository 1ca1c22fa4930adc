"""Pauses of a reflector: after a failure, and between watches."""

from __future__ import annotations

from dynkube.errors import APIError, DynkubeError, EndlessList
from dynkube.informers._reflector.health import GOOD_WHILE
from dynkube.informers._reflector.recovery import Recovery
from dynkube.informers._reflector.transitions import StreamCutShort
from dynkube.informers._settings import InformerSettings
from dynkube.rest._backoff import Backoff

_AT_ONCE = 1.0  # seconds; a watch that ends sooner without any event is a failure
_MANY_SHORT = 3  # consecutive short watches that are a failure
_PUNCTUAL = 1.0  # seconds; a watch may end this much sooner than requested, as the server starts to count earlier


class Pace:
    """Computes the pauses of one reflector. Reads no clock: times are arguments."""

    __slots__ = ("_backoff", "_endless", "_missing", "_settings", "_short")

    def __init__(self, settings: InformerSettings) -> None:
        self._settings = settings
        self._backoff = Backoff(random=settings.random)
        # Short, as a CRD that was just created is often not served for a fraction of a second.
        self._missing = Backoff(initial=0.2, random=settings.random)
        # Long, as a list that exceeded the limits was very expensive, and the next one is likely to exceed them too.
        self._endless = Backoff(initial=30.0, cap=600.0, reset_after=7200.0, random=settings.random)
        self._short = 0  # watches in a row that the server ended within GOOD_WHILE

    def after_failure(self, exc: DynkubeError, recovery: Recovery, now: float) -> float:
        """Return the seconds until the next attempt."""
        if recovery.immediate:
            return 0.0
        if isinstance(exc, EndlessList):
            return self._endless.next(now)
        backoff = self._missing if recovery.missing else self._backoff
        return backoff.next(now, asked=exc.retry_after if isinstance(exc, APIError) else None)

    def after_end(self, age: float, lifetime: float, now: float, *, news: bool) -> float:
        """Return the seconds until the next watch, after the server ended one normally.

        Args:
            age: seconds for which the watch was open.
            lifetime: the ``timeoutSeconds`` that was requested.
            now: trio's time.
            news: whether any event or bookmark was received.

        Raises:
            StreamCutShort: the watch ended so soon that this counts as a failure.
        """
        if age < _AT_ONCE and not news:
            raise StreamCutShort("the server ended the watch at once, without any events")
        if age >= GOOD_WHILE:
            self.held()
            self._short = 0
            # Spread the reconnects, as a server that shuts down ends all its watches early.
            early = age < int(lifetime) - _PUNCTUAL
            return self._settings.random.uniform(0, self._settings.reconnect_spread) if early else 0.0
        self._short += 1
        if self._short >= _MANY_SHORT:
            raise StreamCutShort(f"the server repeatedly ends watches within {GOOD_WHILE:g} s")
        return self._backoff.next(now)

    def held(self) -> None:
        """Reset the backoff after a watch that was open for at least ``GOOD_WHILE``."""
        self._backoff.reset()

    def served(self) -> None:
        """Reset the backoff that applies while the resource is missing; to be called when the server serves it."""
        self._missing.reset()
