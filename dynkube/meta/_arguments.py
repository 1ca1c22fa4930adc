"""Checks of arguments, and names of their types for error messages."""

from __future__ import annotations

from typing import Final, TypeGuard

from dynkube._displayable import Displayable
from dynkube._text.tables import shortened

_BRIEF: Final = 200


def a_type(value: object) -> str:
    """Return the type of a value with an article, for messages.

    Examples: ``a list``, ``an int``, ``bytes``, ``None``.
    """
    if value is None:
        return "None"
    name = type(value).__name__
    if name == "bytes":
        return name
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def brief(value: object) -> str:
    """Return the ``repr`` of an argument for a message, in at most 200 characters.

    A list or table is described in one line: its ``repr`` is a table of all its rows.
    """
    return shortened(value._one_line() if isinstance(value, Displayable) else repr(value), _BRIEF)


def is_number(value: object) -> TypeGuard[float]:
    """Whether the value is an ``int`` or ``float``; false for ``nan`` and booleans."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # nan


def is_seconds(value: object) -> bool:
    """Whether the value is a number > 0.

    True for infinity, false for ``nan`` and booleans.
    """
    return is_number(value) and value > 0
