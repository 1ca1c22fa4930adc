"""Adaptation of owned fields to a changed schema (KEP-555)."""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._patching.shapes import Shape


def reconciled(encoded: JSONObject, shape: Shape) -> JSONObject:
    """Return FieldsV1 adapted to maps or lists that have become atomic.

    The owner of a part of such a value now owns the whole value. Values that are no longer atomic need no change: their
    owner owns the container only, and nothing in it. The same object is returned if nothing changed.
    """
    result = {element: _child(element, child, shape) for element, child in encoded.items()}
    return encoded if all(result[element] is child for element, child in encoded.items()) else result


def _child(element: str, child: JSONObject, shape: Shape) -> JSONObject:
    if not child:
        return child
    inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
    if inner.form not in {"map", "list"} or (inner.form == "map" and inner.deduced):
        return child
    one_value = inner.atomic if inner.form == "map" else inner.list_type == "atomic"
    return {} if one_value else reconciled(child, inner)
