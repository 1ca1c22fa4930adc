"""Values of any type converted to the values of one typed column. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import Any, Final

import msgspec

from dynkube.meta._encode import encode_json

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)\Z")
_LARGEST: Final = 2**63


class FrameType(StrEnum):
    """The type of a column's values that are not ``None``."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """One column of a data frame.

    Values are ``str``, ``int``, ``float``, ``bool`` or ``datetime`` in UTC, or ``None``.
    """

    name: str
    type: FrameType
    values: Sequence[object]


def column_of(name: str, wanted: FrameType, values: Sequence[object]) -> FrameColumn:
    """Build a column of the wanted type, or of strings if a value does not fit.

    No value is lost.
    """
    if wanted is FrameType.TIME:
        moments = [None if value is None else _moment(value) for value in values]
        if all(moment is not None or value is None for moment, value in zip(moments, values, strict=True)):
            return FrameColumn(name, wanted, moments)
    elif wanted is not FrameType.TEXT and _kinds(values) <= _FITTING[wanted]:
        return FrameColumn(name, wanted, [_as(wanted, value) for value in values])
    return FrameColumn(name, FrameType.TEXT, [text_of(value) for value in values])


def common_type(values: Sequence[object]) -> FrameType:
    """Return the type shared by all values.

    Returns ``TEXT`` if there are no values, or values of several types.
    """
    kinds = _kinds(values)
    if kinds == {FrameType.INTEGER, FrameType.NUMBER}:
        # A float cannot represent every integer of more than 53 bits. Columns that a server declares as numbers are
        # floats anyway.
        exact = all(float(value) == value for value in values if isinstance(value, int))
        return FrameType.NUMBER if exact else FrameType.TEXT
    return kinds.pop() if len(kinds) == 1 else FrameType.TEXT


def without_numpy(value: object) -> object:
    """Convert a numpy scalar to Python's own number type.

    A caller's function may return one.
    """
    numpy: Any = sys.modules.get("numpy")  # numpy is loaded if the value is one of its numbers
    is_number = numpy is not None and isinstance(value, numpy.bool_ | numpy.integer | numpy.floating)
    return value.item() if is_number else value  # type: ignore[attr-defined]  # checked by is_number


def text_of(value: object) -> str | None:
    """Return a value as a valid string.

    Lists and maps become JSON, and a lone surrogate U+FFFD.
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else _written(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _written(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{Decimal(value):f}"  # of any length; Python's str() stops at 4,300 digits
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    try:
        text = encode_json(value).decode()
        # a date, Decimal or enum is encoded as a JSON string
        return msgspec.json.decode(text, type=str) if text.startswith('"') else text
    except (TypeError, ValueError, RecursionError):  # returned by a caller's function
        return _described(value)


def _described(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # it contains a number of too many digits, or itself
        return object.__repr__(value)


def _as(wanted: FrameType, value: object) -> object:
    return float(value) if wanted is FrameType.NUMBER and isinstance(value, int) else value


def _kinds(values: Iterable[object]) -> set[FrameType]:
    return {_type_of(value) for value in values if value is not None}


def _type_of(value: object) -> FrameType:
    match value:
        case bool():
            return FrameType.BOOLEAN
        case int():
            return FrameType.INTEGER if -_LARGEST <= value < _LARGEST else FrameType.TEXT
        case float():
            return FrameType.NUMBER
    return FrameType.TEXT if _moment(value) is None else FrameType.TIME


def _moment(value: object) -> datetime | None:
    try:
        if isinstance(value, str) and _MOMENT.match(value):
            value = datetime.fromisoformat(value)
        if not isinstance(value, datetime):
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # e.g. February 30th, or a date before year 1 in UTC
        return None


_FITTING: Final = {
    FrameType.INTEGER: {FrameType.INTEGER},
    FrameType.NUMBER: {FrameType.NUMBER, FrameType.INTEGER},
    FrameType.BOOLEAN: {FrameType.BOOLEAN},
}
