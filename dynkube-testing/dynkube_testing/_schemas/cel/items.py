"""Access to the fields, entries and items of values."""

from __future__ import annotations

from typing import Final

from dynkube_testing._schemas.cel.errors import EvaluationError, no_overload
from dynkube_testing._schemas.cel.syntax import Uint
from dynkube_testing._schemas.cel.values import Fields, Listed, Value, type_of


class _Missing:
    """The type of :data:`MISSING`."""


MISSING: Final = _Missing()


class _ByIdentity:
    """A list or map as the key of a map: as in cel-go, it is equal to itself only."""


def _go_type(value: Value) -> str:
    if isinstance(value, Listed | Fields):
        return f"*common.unstructured{'List' if isinstance(value, list) else 'Map'}"
    return f"*types.base{'List' if isinstance(value, list) else 'Map'}"


def as_key(value: Value) -> Value:
    """Return a value as the key of a map."""
    return _ByIdentity() if isinstance(value, list | dict) else value


def item(value: Value, key: Value, *, optional: bool) -> Value:
    """Return a field, an entry or an item.

    Raises:
        EvaluationError: It does not exist; with ``optional``, ``MISSING`` is returned instead.
    """
    if isinstance(key, list | dict):
        raise EvaluationError(f"invalid qualifier type: {_go_type(key)}")
    if isinstance(value, dict):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if isinstance(value, Fields) and not isinstance(key, str):
            raise no_overload()
        found = value.get(as_key(key), MISSING)
        if found is MISSING and not optional:
            raise EvaluationError(f"no such key: {key}")
        return found
    if isinstance(value, list):
        return _list_item(value, key, optional=optional)
    if optional:
        return MISSING
    raise EvaluationError(f"no such key: {key}")


def _list_item(values: list[Value], key: Value, *, optional: bool) -> Value:
    if isinstance(key, bool) or not isinstance(key, int | float):
        raise EvaluationError(f"unsupported index type '{type_of(key).name}' in list")
    if isinstance(key, float) and not key.is_integer():
        raise EvaluationError(f"unsupported index value {key} in list")
    if 0 <= key < len(values):
        if isinstance(values, Listed) and isinstance(key, float | Uint):
            raise EvaluationError(f"unsupported index: {int(key)}")
        return values[int(key)]
    if optional:
        return MISSING
    raise EvaluationError(f"index out of bounds: {int(key)}")
