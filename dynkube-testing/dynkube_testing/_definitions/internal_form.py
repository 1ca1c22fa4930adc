"""Conversion of versions and schemas to the form of Go's structs.

Some error messages of the real server contain this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import escape_html
from dynkube_testing._definitions.shapes import Field, ListOf, MapOf, Ref, Scalar, SchemaOr, Shape, fields_of

_SCHEMA = Ref(struct="JSONSchemaProps")
_ABSENT: Mapping[str, object] = {"string": "", "bool": False, "int": 0, "float": 0}


def bad_struct(field: str, shape: Shape, value: object, detail: str) -> StatusCause:
    """Return the cause of an invalid struct or list of structs; its message has the value as JSON."""
    text = escape_html(msgspec.json.encode(internal(shape, value)).decode())
    return StatusCause(field, "FieldValueInvalid", f"Invalid value: {text}: {detail}")


def internal(shape: Shape, value: Any) -> Any:
    """Return ``value`` with all fields of its structs, even unset ones, by Go names."""
    if value is None:
        return None
    match shape:
        case Ref():
            return {field.go: _field(field, value) for field in fields_of(shape.struct).values()}
        case ListOf():
            return [internal(shape.item, item) for item in value]
        case MapOf():
            return {key: internal(shape.item, item) for key, item in value.items()}
        case SchemaOr():
            return _either(shape, value)
        case Scalar():
            return int(value) if isinstance(value, float) and value.is_integer() else value


def _field(field: Field, struct: JSONObject) -> Any:
    shape = field.shape
    if field.json in struct:
        return internal(shape, struct[field.json])
    return _ABSENT.get(shape.kind) if isinstance(shape, Scalar) and not field.pointer else None


def _either(shape: SchemaOr, value: Any) -> JSONObject:
    schema = internal(_SCHEMA, value) if isinstance(value, dict) else None
    if shape.other == "bool":
        return {"Allows": schema is not None or value is True, "Schema": schema}
    rest = None if schema is not None else value
    if shape.other == "array":
        return {"Schema": schema, "JSONSchemas": internal(ListOf(item=_SCHEMA), rest)}
    return {"Schema": schema, "Property": rest}
