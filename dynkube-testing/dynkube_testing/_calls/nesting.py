"""Maximum nesting depth of objects."""

from __future__ import annotations

# Go's JSON decoder allows 10,000 levels. This limit is lower because functions of this package are recursive, with up
# to three calls per level, and Python's default recursion limit is 1,000 calls.
MAX_DEPTH = 300


class TooDeep(ValueError):
    """Data is nested deeper than :data:`MAX_DEPTH`."""

    def __init__(self, bracket: str) -> None:
        super().__init__(f"invalid character '{bracket}' exceeded max depth")


def check_depth(data: object) -> None:
    """Check that ``data`` is not nested deeper than :data:`MAX_DEPTH`.

    An object that occurs many times in ``data``, by YAML aliases, is visited once per level.

    Raises:
        TooDeep: It is nested deeper, or an object contains itself.
    """
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        values = (value for outer in level for value in (outer.values() if isinstance(outer, dict) else outer))
        level = list({id(value): value for value in values if isinstance(value, dict | list)}.values())
    if level:
        raise TooDeep("{" if isinstance(level[0], dict) else "[")
