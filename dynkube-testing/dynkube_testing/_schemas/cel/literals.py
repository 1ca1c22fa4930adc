"""Durations and timestamps as Go reads and writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A duration, in nanoseconds."""

    nanoseconds: int

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self.nanoseconds), 10**9)
        sign = "-" if self.nanoseconds < 0 else ""
        fraction = f".{rest:09}".rstrip("0") if rest else ""
        return f"{sign}{seconds}{fraction}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970."""

    nanoseconds: int

    @property
    def utc(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.nanoseconds // 1000)

    def __str__(self) -> str:
        rest = self.nanoseconds % 10**9
        fraction = f".{rest:09}".rstrip("0") if rest else ""
        return f"{self.utc:%Y-%m-%dT%H:%M:%S}{fraction}Z".rjust(20, "0")


def duration_of(text: str) -> Duration:
    """Return the duration of a text such as ``1h30m``.

    Raises:
        ValueError: It is not one, or too long.
    """
    rest = text[1:] if text[:1] in {"+", "-"} else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        found = _PART.match(rest, at)
        if found is None or not (found["whole"] or found["fraction"]):
            break
        unit = _UNITS[found["unit"]]
        fraction = found["fraction"] or "0"
        total += int(found["whole"] or 0) * unit + int(fraction) * unit // 10 ** len(fraction)
        at = found.end()
    if not rest or at < len(rest) or total > 2**63 - (text[0] != "-"):
        raise ValueError(f"invalid duration {text!r}")
    return Duration(-total if text[0] == "-" else total)


def timestamp_of(text: str) -> Timestamp:
    """Return the time of a text in RFC 3339.

    Raises:
        ValueError: It is not one.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"invalid timestamp {text!r}")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    date = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    fraction = int((found[7] or "0")[:9].ljust(9, "0"))
    offset = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0)) * (-1 if found[8] == "-" else 1)
    seconds = (date - _EPOCH - offset) // timedelta(seconds=1)
    return Timestamp(seconds * 10**9 + fraction)
