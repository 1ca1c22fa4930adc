"""Arguments that are not what they should be: told apart, and named in messages."""

from __future__ import annotations

from typing import TypeGuard


def a_type(value: object) -> str:
    """What a caller passed in place of something else: ``a list``, ``an int``, ``bytes``, ``None``."""
    if value is None:
        return "None"
    name = type(value).__name__
    if name == "bytes":
        return name
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number; ``nan`` and ``True`` are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # nan


def is_seconds(value: object) -> bool:
    """Whether it is a positive number; infinity is one, ``nan`` and ``True`` are none."""
    return is_number(value) and value > 0
