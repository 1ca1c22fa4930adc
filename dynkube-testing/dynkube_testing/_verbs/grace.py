"""Graceful deletion: the time that a pod has to shut down.

Other kinds have no grace period.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum, auto

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Grace(Enum):
    """The effect of a delete on the grace period of an object."""

    NONE = auto()  # : The object has no grace period, or it has expired.
    PENDING = auto()  # : The grace period is running, and the delete does not shorten it. The object is not modified.
    BEGUN = auto()  # : The delete has started or shortened the grace period. The object was modified.


def is_graceful(kind: Kind) -> bool:
    """Return whether objects of ``kind`` have a grace period."""
    return kind.storage_group == "pods"


def begin_grace(kind: Kind, obj: JSONObject, requested: int | None, now: datetime) -> Grace:
    """Start the grace period of ``obj``, or shorten it; it is never extended.

    Args:
        kind: The kind of the object.
        obj: The object, which is modified in place.
        requested: The grace period in the delete options, in seconds; ``None`` to use the one in the object.
        now: The current time.
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
        # The shortened period has already ended. As in a real server, use a period of one second, or zero if requested.
        begin, requested = now - timedelta(seconds=requested), min(requested, 1)
    _set(metadata, begin, requested)
    return Grace.BEGUN


def _period(obj: JSONObject, requested: int | None) -> int:
    spec, phase = obj.get("spec") or {}, (obj.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in {"Failed", "Succeeded"}:
        return 0
    if requested is not None:
        return requested
    # Pods normally have the default since their creation; 30 seconds apply to stored pods without it.
    period: int = spec.get("terminationGracePeriodSeconds", 30)
    return max(period, 0)


def _set(metadata: JSONObject, begin: datetime, seconds: int) -> None:
    metadata["deletionTimestamp"] = (begin.astimezone(UTC) + timedelta(seconds=seconds)).strftime(_FORMAT)
    metadata["deletionGracePeriodSeconds"] = seconds
