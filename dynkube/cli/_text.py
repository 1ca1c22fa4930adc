"""Words for people: what a cluster says made safe to show, and durations as kubectl writes them."""

from __future__ import annotations

from datetime import timedelta

_UNITS = (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1))


def printable(text: str, *, keep: str = "") -> str:
    """``text`` without what could steer a terminal: other characters than ``keep`` become U+FFFD.

    Names and messages come from servers and files; an escape sequence in one of them must stay text.
    """
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def age(duration: timedelta) -> str:
    """A duration in at most two units: ``45s``, ``3h20m``, ``12d``. One below zero (clocks differ) is ``0s``."""
    seconds = max(0, int(duration.total_seconds()))
    for unit, size, smaller, part in _UNITS:
        whole, rest = divmod(seconds, size)
        if whole >= 10 or (whole and not rest // part):
            return f"{whole}{unit}"
        if whole:
            return f"{whole}{unit}{rest // part}{smaller}"
    return f"{seconds}s"
