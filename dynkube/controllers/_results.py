"""What a reconcile returns or raises, and what follows from it. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from dynkube.errors import AlreadyExists, Conflict, DynkubeError, InvalidInput, NotFound
from dynkube.meta._arguments import brief


@dataclass(frozen=True, slots=True)
class Requeue:
    """Returned by a reconcile that wants to be called again, although nothing went wrong.

    Attributes:
        after: seconds to wait. A change of a watched object makes the key reconcile earlier.
        priority: of the key in the queue then: keys with a higher one come first, and changes have 0. ``None``: the
            same as now.

    Raises:
        InvalidInput: ``after`` is not a positive, finite number, or ``priority`` is not an integer.
    """

    after: float
    priority: int | None = None

    def __post_init__(self) -> None:
        given: object = self.after  # callers are not always type-checked
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
            raise InvalidInput(f"after={given!r}: pass a positive number of seconds")
        if self.priority is not None:
            check_priority(self.priority)


def check_priority(priority: object) -> None:
    """Raise InvalidInput unless it is a priority."""
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise InvalidInput(f"priority={priority!r}: pass an integer; changes have 0, and initial objects -100")


Result: TypeAlias = Requeue | None
"""What a reconcile returns: ``None`` until something changes, or :class:`Requeue`."""


class Again:
    """Returned in place of a result if the key has to be reconciled again once the cache shows what was written."""


AGAIN: Final = Again()


class Stopped:
    """Returned in place of a result if the call of a daemon was stopped."""


STOPPED: Final = Stopped()


class Terminal(DynkubeError):
    """Raised by a reconcile that would fail again in the same way.

    The key is not retried until a watched object changes (controller-runtime's ``TerminalError``).
    """


class StaleCache(DynkubeError):
    """A cache is known to be out of date, so that nothing should be done because of what it shows.

    Raised by the methods of a :class:`Context`. It need not be caught: the key is reconciled again once the cache is up
    to date.
    """


class ReconcileTimeout(DynkubeError):
    """A reconcile did not end within the deadline of its controller."""


class Outcome(StrEnum):
    """How a reconcile ended; the values of the label ``result`` of controller-runtime's metrics, and four more."""

    SUCCESS = "success"
    """It returned ``None``. The failures of the key are reset."""
    REQUEUE = "requeue"
    """It only added the finalizer: it is called again when the cache shows that."""
    REQUEUE_AFTER = "requeue_after"
    """It returned :class:`Requeue`. The failures of the key are reset."""
    CONFLICT = "conflict"
    """A cache was out of date: a write met an object that has changed, exists already, or is gone; or a resource is
    being listed (:class:`StaleCache`). It is retried, and not logged as an error unless that lasts."""
    ERROR = "error"
    """It raised, or returned something else: it is retried after the delay of the rate limiter."""
    TIMEOUT = "timeout"
    """It did not end within its deadline: it is retried after the delay of the rate limiter."""
    TERMINAL = "terminal"
    """It raised :class:`Terminal`: it is not retried, and the failures of the key are reset."""
    STOPPED = "stopped"
    """It was the call of a :class:`Daemon`, and was stopped. The failures of the key are reset."""


_GRAVITY: Final = (Outcome.TERMINAL, Outcome.CONFLICT, Outcome.TIMEOUT, Outcome.ERROR)
"""Of several failures the last one of these counts: a key is retried unless all of them are final."""


def outcome_of(failure: Exception | None, result: object) -> tuple[Outcome, Exception | None]:
    """Return how a reconcile ended, and the failure to report.

    Args:
        failure: what it raised; ``None`` if it returned.
        result: what it returned.
    """
    match failure:
        case None:
            pass
        case Terminal():
            return Outcome.TERMINAL, failure
        case ReconcileTimeout():
            return Outcome.TIMEOUT, failure
        case Conflict() | AlreadyExists() | NotFound() | StaleCache():
            return Outcome.CONFLICT, failure
        case ExceptionGroup():  # of a nursery or a TaskGroup
            return max((outcome_of(each, None)[0] for each in failure.exceptions), key=_GRAVITY.index), failure
        case _:
            return Outcome.ERROR, failure
    match result:
        case None:
            return Outcome.SUCCESS, None
        case Again():
            return Outcome.REQUEUE, None
        case Requeue():
            return Outcome.REQUEUE_AFTER, None
        case Stopped():
            return Outcome.STOPPED, None
    return Outcome.ERROR, InvalidInput(f"the reconcile returned {brief(result)}: return None or Requeue(after=...)")
