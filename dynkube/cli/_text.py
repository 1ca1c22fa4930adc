"""Durations, as kubectl writes them."""

from __future__ import annotations

from datetime import timedelta

_UNITS = (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1))


def age(duration: timedelta) -> str:
    """Format a duration in at most two units: ``45s``, ``3h20m``, ``12d``.

    Negative ones (clock skew) become ``0s``.
    """
    seconds = max(0, int(duration.total_seconds()))
    for unit, size, smaller, part in _UNITS:
        whole, rest = divmod(seconds, size)
        if whole >= 10 or (whole and not rest // part):
            return f"{whole}{unit}"
        if whole:
            return f"{whole}{unit}{rest // part}{smaller}"
    return f"{seconds}s"
