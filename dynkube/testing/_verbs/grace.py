"""Graceful deletion: how long what an object runs may take to end. Pods are the one kind that has it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum, auto

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Grace(Enum):
    """What a delete means for the grace period of an object."""

    NONE = auto()  #: There is none, or it is over.
    PENDING = auto()  #: It runs, and the delete does not shorten it: nothing changes.
    BEGUN = auto()  #: It began, or became shorter: the object was changed.


def is_graceful(kind: Kind) -> bool:
    """Whether objects of ``kind`` are given time to end."""
    return kind.storage_group == "pods"


def begin_grace(kind: Kind, obj: JSONObject, requested: int | None, now: datetime) -> Grace:
    """Let the grace period of ``obj`` begin, or shorten it; it never grows.

    Args:
        kind: Its kind.
        obj: The object, changed in place.
        requested: The period that the caller wants, in seconds; ``None`` for the object's own.
        now: The present.
    """
    if not is_graceful(kind):
        return Grace.NONE
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        _set(metadata, now, _period(obj, requested))
        if "generation" in metadata:
            metadata["generation"] += 1
        return Grace.BEGUN
    running = metadata.get("deletionGracePeriodSeconds") or 0
    if running == 0:
        return Grace.NONE
    if requested is None or requested >= running:
        return Grace.PENDING
    end = datetime.strptime(metadata["deletionTimestamp"], _FORMAT).replace(tzinfo=UTC)
    begin = end - timedelta(seconds=running)
    if begin + timedelta(seconds=requested) < now:
        # Already over. What was to be graceful remains so for the shortest time there is.
        begin, requested = now - timedelta(seconds=requested), min(requested, 1)
    _set(metadata, begin, requested)
    return Grace.BEGUN


def _period(obj: JSONObject, requested: int | None) -> int:
    spec, phase = obj.get("spec") or {}, (obj.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in {"Failed", "Succeeded"}:
        return 0
    if requested is not None:
        return requested
    # Pods have this default from their admission on; those that were stored without it get it here.
    period: int = spec.get("terminationGracePeriodSeconds", 30)
    return max(period, 0)


def _set(metadata: JSONObject, begin: datetime, seconds: int) -> None:
    metadata["deletionTimestamp"] = (begin.astimezone(UTC) + timedelta(seconds=seconds)).strftime(_FORMAT)
    metadata["deletionGracePeriodSeconds"] = seconds
