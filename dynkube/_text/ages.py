"""Ages as kubectl prints them: ``5m3s``, ``2d4h``, ``3y12d``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# The units for durations below a limit in seconds: (limit, unit, its letter, the smaller unit, its letter), the same as
# in k8s.io/apimachinery/pkg/util/duration.HumanDuration.
_STEPS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def duration_text(seconds: float) -> str:
    """Format a duration in seconds as one or two units.

    ``<invalid>`` if below -1 s, as small clock skew is normal.
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    for limit, unit, letter, small, small_letter in _STEPS:
        if whole < limit:
            rest = whole % unit // small if small else 0
            return f"{whole // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{whole // _YEAR}y"


def age_of(moment: object, now: datetime) -> str:
    """Return the age of a ``metav1.Time`` or datetime; ``""`` for any other value."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return ""
    if not isinstance(moment, datetime):
        return ""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return duration_text((now - moment).total_seconds())
