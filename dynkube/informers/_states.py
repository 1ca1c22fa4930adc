"""The state of an informer: phase, reason, and since when."""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from dynkube._displayable import Displayable
from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube._text.tables import printable
from dynkube.telemetry import Collection, Observers, StateChange

_log = get_logger("dynkube.informers")


class Phase(enum.StrEnum):
    """The phase of an informer.

    ::

        UNKNOWN ──> ABSENT, SYNCING, DEGRADED
        ABSENT <──> SYNCING                     the CRD is installed, or removed
        ABSENT <──> DEGRADED                    the absence cannot be observed any more, or can be again
        SYNCING ──> LIVE <──> DEGRADED
        SYNCING, LIVE, DEGRADED <──> ABSENT     all namespaces of a set become forbidden, or one is allowed again
        any ──> STOPPED
    """

    UNKNOWN = "UNKNOWN"
    """Not yet known whether the resource is served."""
    ABSENT = "ABSENT"
    """Not served, or, for a set of namespaces, forbidden in each; the cache is empty."""
    SYNCING = "SYNCING"
    """Served; its objects are being listed."""
    LIVE = "LIVE"
    """The cache is synced, and the watch keeps it up to date."""
    DEGRADED = "DEGRADED"
    """Listing or watching fails persistently; the cache keeps its last content, and retries continue.

    Also the phase of an absent resource (with an empty cache) if its absence cannot be observed any more."""
    STOPPED = "STOPPED"
    """The informer was closed, or not entered yet."""


UNKNOWN = Phase.UNKNOWN
ABSENT = Phase.ABSENT
SYNCING = Phase.SYNCING
LIVE = Phase.LIVE
DEGRADED = Phase.DEGRADED
STOPPED = Phase.STOPPED


@dataclass(frozen=True, slots=True)
class State(Displayable):
    """An informer's phase, with its reason.

    Attributes:
        phase: the phase.
        reason: one CamelCase word, to be used in code. UNKNOWN: ``Starting``, ``CRDsPending``, ``DiscoveryPending``,
            ``DiscoveryFailed``, ``AbsenceUnconfirmed`` (discovery does not list the resource, and is read again),
            ``CRDFilterFailed``. ABSENT: ``CRDNotFound``, ``NotEstablished``, ``NamesNotAccepted``,
            ``VersionNotServed``, ``NotServed``, ``WrongScope``, ``CRDFiltered``, and ``Forbidden`` for a set of
            namespaces. SYNCING: ``Listing``, ``FilterPending``, ``NamespacesPending``. LIVE: ``Watching``.
            STOPPED: ``NotEntered``, ``Closed``. DEGRADED, and UNKNOWN where CRDs cannot be read: the reason of the
            error (``Forbidden``, ``ConnectFailed``, ...), or ``TooManyNamespaces``.
        message: a human-readable explanation; may be empty.
        since: when this phase with this reason began, in UTC. Not part of equality.
    """

    phase: Phase
    reason: str = ""
    message: str = ""
    since: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)

    def __str__(self) -> str:
        detail = ": ".join(part for part in (self.reason, self.message) if part)
        return printable(f"{self.phase} ({detail})") if detail else str(self.phase)


def next_state(before: State, phase: Phase, reason: str, message: str = "") -> State:
    """Return the state after ``before``: the same object if nothing has changed.

    If only the message has changed, ``since`` stays. The message may be a server's.
    """
    now = State(phase, reason, sanitized(message))
    if now == before:
        return before
    return replace(now, since=before.since) if (before.phase, before.reason) == (phase, reason) else now


class StateReporter:
    """Logs the state changes of one informer, and calls the observers.

    Within one phase, a reason that was logged before is logged at DEBUG. So a server that alternates between 500 and
    503 every half minute for a day causes only two warnings.
    """

    __slots__ = ("_collection", "_observers", "_reasons")

    def __init__(self, collection: Collection, observers: Observers) -> None:
        self._collection = collection
        self._observers = observers
        self._reasons: tuple[str, ...] = ()  # a few at most; an empty set takes 216 bytes

    def report(self, before: State, now: State) -> None:
        """Report a state change."""
        if before.phase is not now.phase:
            self._reasons = ()
        # An ABSENT informer becomes DEGRADED when a shared source fails (such as the CRD watch). The source logs one
        # warning for all informers.
        degraded = now.phase is Phase.DEGRADED and before.phase is not Phase.ABSENT
        level = logging.WARNING if degraded else logging.INFO
        if now.reason in self._reasons:
            level = logging.DEBUG
        else:
            self._reasons += (now.reason,)
        extra = {
            "gvr": str(self._collection.gvr),
            "namespace": self._collection.namespace,
            "namespaces": self._collection.namespaces,
            "phase": str(now.phase),
            "reason": now.reason,
            "previous": str(before.phase),
        }
        _log.log(level, "informer %s: %s -> %s", self._collection, before.phase, now, extra=extra)
        for hook in self._observers.state_changed:
            hook(
                self._collection,
                StateChange(phase=now.phase, reason=now.reason, message=now.message, previous=before.phase),
            )
