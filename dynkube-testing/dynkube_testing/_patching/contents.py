"""Access to the fields of objects by the path elements of FieldsV1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._patching.elements import Path, elements
from dynkube_testing._patching.fieldset import NOT_OWNED, FieldSet, owned
from dynkube_testing._patching.shapes import Form, Shape
from dynkube_testing._schemas.correlation import same_json

MISSING = object()


@dataclass(frozen=True, slots=True)
class Repeated:
    """Items of a list that have the same key, although keys should be unique.

    They have one path element, and count as one value. An applied configuration with such items is rejected, but older
    objects and updates may have them (https://github.com/kubernetes/kubernetes/issues/113482).
    """

    items: tuple[Any, ...]


def all_of(obj: JSONObject, shape: Shape) -> FieldSet:
    """Return all fields of an applied configuration, even those without an owner.

    A container is included only if it is empty, an item of a list, or not declared in the schema.
    """
    return frozenset(path for path in _walk(obj, shape, ()) if path)


def fields_of(obj: JSONObject, shape: Shape) -> FieldSet:
    """Return the fields of ``obj``, except those that never have an owner."""
    return owned(all_of(obj, shape))


def _walk(value: object, shape: Shape, path: Path) -> Iterator[Path]:
    parts = parts_of(value, shape)
    if parts is None:
        # A null is a field too, but its path is yielded below, with its container.
        if value is not None:
            yield path
        return
    for element, child in parts.items():
        inner = (*path, element)
        if isinstance(child, Repeated):
            yield inner
        elif element.startswith("f:"):
            name = element[2:]
            yield from _walk(child, shape.field(name), inner)
            if child is None or child == {} or not shape.declares(name):
                yield inner
        else:
            yield from _walk(child, shape.item(), inner)
            yield inner


def parts_of(value: object, shape: Shape) -> dict[str, Any] | None:
    """Return the fields or items of a value by path element; ``None`` if it has none.

    Scalars and atomic values have none: they are one value.
    """
    if isinstance(value, dict) and not shape.atomic:
        return {f"f:{name}": child for name, child in value.items()}
    if isinstance(value, list) and shape.list_type != "atomic":
        named = elements(value, shape)
        found = dict(zip(named, value, strict=True))
        return found if len(found) == len(value) else _with_repeated(named, value)
    return None


def _with_repeated(named: list[str], items: list[Any]) -> dict[str, Any]:
    grouped: dict[str, list[Any]] = {}
    for element, item in zip(named, items, strict=True):
        grouped.setdefault(element, []).append(item)
    return {element: found[0] if len(found) == 1 else Repeated(tuple(found)) for element, found in grouped.items()}


def form_of(value: object, shape: Shape) -> Form:
    """Return the form of ``value``; the form in the schema if it is null or absent."""
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "list"
    return (shape.form or "map") if value is None or value is MISSING else "scalar"


def form_fits(value: object, form: Form) -> bool:
    """Return whether ``form`` is a map or list, and ``value`` has that form."""
    return isinstance(value, dict if form == "map" else list) if form in {"map", "list"} else False


def equal(old: object, new: object) -> bool:
    """Return whether two values are equal as JSON.

    Unlike ``==``, this distinguishes ``True`` from ``1``. Either value may be :data:`MISSING`.
    """
    if old is new:
        return True
    if old != new:
        return False
    if isinstance(old, Repeated) and isinstance(new, Repeated):
        old, new = list(old.items), list(new.items)
    # Comparing encoded JSON is faster. Equal values may be encoded in two ways, as ``1`` and ``1.0``.
    return msgspec.json.encode(old) == msgspec.json.encode(new) or same_json(old, new)


def all_fields_v1(obj: JSONObject, shape: Shape) -> JSONObject:
    """Return the FieldsV1 of a created object: all fields that have an owner.

    It is computed in one pass, because every create needs it.
    """
    nested = _nested(obj, shape)
    nested.pop(".", None)
    for unowned in NOT_OWNED:
        *parents, last = unowned
        node = nested
        for parent in parents:
            node = node.get(parent, {})
        node.pop(last, None)
    if not nested.get("f:metadata", True):
        del nested["f:metadata"]
    return nested


def _nested(value: object, shape: Shape, *, given: bool = True) -> JSONObject:
    parts = parts_of(value, shape)
    if not parts:
        return {}
    nested: JSONObject = {} if given else {".": {}}
    for element, child in parts.items():
        if not isinstance(child, dict | list):
            nested[element] = {}
            continue
        inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
        given_too = given and inner.always
        below = _nested(child, inner, given=given_too)
        if below or not given_too or (child and parts_of(child, inner) is None):
            nested[element] = below
    return nested


def value_at(obj: object, path: Path, shape: Shape) -> object:
    """Return the value at ``path``; :data:`MISSING` if there is none."""
    value = obj
    for element in path:
        if element.startswith("f:"):
            if not isinstance(value, dict) or element[2:] not in value:
                return MISSING
            value, shape = value[element[2:]], shape.field(element[2:])
            continue
        index = index_of(value, element, shape)
        if index is None:
            return MISSING
        assert isinstance(value, list)
        value, shape = value[index], shape.item()
    return value


def index_of(items: object, element: str, shape: Shape) -> int | None:
    """Return the index of the item with this path element; ``None`` if there is none."""
    if not isinstance(items, list) or shape.list_type == "atomic":
        return None
    found = elements(items, shape)
    return found.index(element) if element in found else None
