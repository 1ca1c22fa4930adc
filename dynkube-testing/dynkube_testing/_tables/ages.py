"""Formatting of ages: ``5m3s``, ``2d``, ``<unknown>``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from dynkube_testing._tables.fields import Fields

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400

# RFC 3339 timestamps as accepted by Go. ``datetime.fromisoformat`` accepts many other formats too.
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)")

UNKNOWN = "<unknown>"
INVALID = "<invalid>"


def human_duration(seconds: float) -> str:
    """Format a duration with two or three significant figures, like ``kubectl get``.

    A negative duration (a time in the future) is formatted as ``0s`` if it is less than two seconds, since clocks
    differ, and otherwise as ``<invalid>``.
    """
    total = int(seconds)
    if total < -1:
        return INVALID
    if total < 2 * _MINUTE:
        return f"{max(total, 0)}s"
    if total < 10 * _MINUTE:
        return _two(total, _MINUTE, "m", 1, "s")
    if total < 3 * _HOUR:
        return f"{total // _MINUTE}m"
    if total < 8 * _HOUR:
        return _two(total, _HOUR, "h", _MINUTE, "m")
    if total < 2 * _DAY:
        return f"{total // _HOUR}h"
    if total < 8 * _DAY:
        return _two(total, _DAY, "d", _HOUR, "h")
    if total < 2 * _YEAR:
        return f"{total // _DAY}d"
    if total < 8 * _YEAR:
        return _two(total, _YEAR, "y", _DAY, "d")
    return f"{total // _YEAR}y"


def _two(total: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = total % large // small
    return f"{total // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")


def parse_timestamp(text: str) -> datetime | None:
    """Parse an RFC 3339 timestamp; return ``None`` if it is malformed."""
    if _TIMESTAMP.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # for example, February 31
        return None


@dataclass(frozen=True, slots=True)
class Ages:
    """Formats ages at one point in time, so that all cells of a table are consistent.

    Attributes:
        now: The point in time, with its time zone.
    """

    now: datetime

    @classmethod
    def at(cls, now: datetime) -> Ages:
        """Return the formatter for ``now``; without a time zone, ``now`` is in UTC."""
        return cls(now if now.tzinfo is not None else now.replace(tzinfo=UTC))

    def since(self, timestamp: str) -> str:
        """Format the time since ``timestamp``.

        The result is ``<unknown>`` for an empty timestamp, and ``<invalid>`` for a malformed one.
        """
        if not timestamp:
            return UNKNOWN
        moment = parse_timestamp(timestamp)
        return INVALID if moment is None else human_duration((self.now - moment).total_seconds())

    def between(self, start: str, end: str) -> str:
        """Format the time from ``start`` to ``end``; to :attr:`now` if ``end`` is empty.

        The result is ``<unknown>`` if a timestamp is malformed.
        """
        first, last = parse_timestamp(start), parse_timestamp(end) if end else self.now
        if first is None or last is None:
            return UNKNOWN
        return human_duration((last - first).total_seconds())

    def of(self, obj: Fields) -> str:
        """Format the age of an object, from its creation timestamp."""
        return self.since(obj.text("metadata.creationTimestamp"))
