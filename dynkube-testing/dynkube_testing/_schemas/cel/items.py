"""Access to the fields, entries and items of values."""

from __future__ import annotations

from typing import Final

from dynkube_testing._schemas.cel.errors import EvaluationError, no_overload
from dynkube_testing._schemas.cel.values import Fields, Value, type_of


class _Missing:
    """The type of :data:`MISSING`."""


MISSING: Final = _Missing()


def item(value: Value, key: Value, *, optional: bool) -> Value:
    """Return a field, an entry or an item.

    Raises:
        EvaluationError: It does not exist; with ``optional``, ``MISSING`` is returned instead.
    """
    if isinstance(value, dict):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if isinstance(value, Fields) and not isinstance(key, str):
            raise no_overload()
        found = value.get(key, MISSING)
        if found is MISSING and not optional:
            raise EvaluationError(f"no such key: {key}")
        return found
    if isinstance(value, list):
        return _list_item(value, key, optional=optional)
    if optional:
        return MISSING
    raise no_overload()


def _list_item(values: list[Value], key: Value, *, optional: bool) -> Value:
    if isinstance(key, bool | str) or (isinstance(key, float) and not key.is_integer()):
        raise EvaluationError(f"unsupported index type '{type_of(key).name}' in list")
    if 0 <= key < len(values):
        return values[int(key)]
    if optional:
        return MISSING
    raise EvaluationError(f"index out of bounds: {int(key)}")
