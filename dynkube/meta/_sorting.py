"""The order of objects by a field, as ``kubectl get --sort-by`` has it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from dynkube.meta._jsonpath.compiled import JSONPath
from dynkube.meta._object import Unstructured
from dynkube.meta._quantities import quantity

Key: TypeAlias = tuple[int, Any]
"""A rank by the kind of value, and what values of that kind are compared by."""

_BOOLEANS, _NUMBERS, _TIMES, _STRINGS, _OTHERS = range(5)
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T.*(?:Z|[+-][0-9]{2}:[0-9]{2})\Z")
_DIGITS: Final = re.compile(r"([0-9]+)")


def order_by(objects: Sequence[Unstructured], path: JSONPath, *, reverse: bool) -> list[int]:
    """Return the places of objects in the order of the first value that a path selects.

    Objects without a value, or with ``null``, are the last ones in both directions. The order is stable.
    """
    keys: dict[int, Key] = {}
    missing: list[int] = []
    for place, obj in enumerate(objects):
        found = path.find_json(obj.json)
        if found and found[0] is not None:
            keys[place] = _key(found[0])
        else:
            missing.append(place)
    return [*sorted(keys, key=keys.__getitem__, reverse=reverse), *missing]


def _key(value: object) -> Key:
    if isinstance(value, bool):
        return _BOOLEANS, value
    if isinstance(value, int | float):
        return _NUMBERS, value
    if isinstance(value, str):
        if (number := quantity(value)) is not None:
            return _NUMBERS, number
        return (_STRINGS, _natural(value)) if (time := _time(value)) is None else (_TIMES, time)
    return _OTHERS, msgspec.json.encode(value, order="deterministic")


def _time(text: str) -> datetime | None:
    if not _TIME.match(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _natural(text: str) -> list[str | tuple[int, str]]:
    """Return what compares numbers in a text by value: ``web-9`` before ``web-10``.

    Texts and numbers alternate, so only like is compared. int() would raise on thousands of digits.
    """
    parts: list[str | tuple[int, str]] = list(_DIGITS.split(text))
    for place in range(1, len(parts), 2):
        digits = str(parts[place]).lstrip("0")
        parts[place] = (len(digits), digits)
    return parts
