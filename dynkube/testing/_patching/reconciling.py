"""What was owned under another schema: a part of what is one value now means all of it (KEP-555)."""

from __future__ import annotations

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._patching.shapes import Shape


def reconciled(encoded: JSONObject, shape: Shape) -> JSONObject:
    """FieldsV1 as they are now, where maps or lists have become one value since; the same object where none has.

    The other way round nothing is to be done: who owns a container, owns that and nothing in it.
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
