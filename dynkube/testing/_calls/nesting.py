"""The depth to which objects may be nested."""

from __future__ import annotations

# Go's parser stops at 10,000. The functions that work on objects here are recursive, with up to three calls for each
# level, and Python stops a program at 1,000 calls.
MAX_DEPTH = 300


class TooDeep(ValueError):
    """Data nested deeper than :data:`MAX_DEPTH`."""

    def __init__(self, bracket: str) -> None:
        super().__init__(f"invalid character '{bracket}' exceeded max depth")


def check_depth(data: object) -> None:
    """Raise if ``data`` is nested deeper than :data:`MAX_DEPTH`; aliases of YAML may put one object in many places.

    Raises:
        TooDeep: There are more levels, or an object contains itself.
    """
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        values = (value for outer in level for value in (outer.values() if isinstance(outer, dict) else outer))
        level = list({id(value): value for value in values if isinstance(value, dict | list)}.values())
    if level:
        raise TooDeep("{" if isinstance(level[0], dict) else "[")
