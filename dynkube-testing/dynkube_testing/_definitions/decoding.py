"""Decoding of a CRD into typed fields.

As in the real server, the result has only known fields, in the order of Go's structs, with values of the right type and
without nulls and zero values that Go's encoder omits. Errors have the messages of Go's JSON decoder; only the first
error is reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import TIME, json_name, time_error
from dynkube_testing._definitions.shapes import ListOf, MapOf, Ref, Scalar, SchemaOr, Shape, fields_of
from dynkube_testing._verbs.reading import Unreadable

_ROOT = "CustomResourceDefinition"
_SCHEMA = Ref(struct="JSONSchemaProps")
_TEXT = Scalar(kind="string", name="string")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_ZEROES: Mapping[str, object] = {"string": "", "bool": False, "int": 0, "float": 0, "bytes": "", "object": {}}


def decode_definition(body: Mapping[str, Any]) -> tuple[JSONObject, list[str]]:
    """Decode a CRD, except for its metadata.

    Returns:
        The CRD without unknown fields, and the paths of the unknown fields in the form of field validation errors.

    Raises:
        Unreadable: A field has the wrong type.
    """
    reader = _Reader()
    return reader.struct(_ROOT, body, _Place(_ROOT, "", "")), reader.unknown


def zero(shape: Shape) -> Any:
    """Return Go's zero value of a type, which absent fields have."""
    if isinstance(shape, Ref):
        return {field.json: zero(field.shape) for field in fields_of(shape.struct).values() if field.kept}
    return _ZEROES.get(shape.kind) if isinstance(shape, Scalar) else None


class _Place(NamedTuple):
    """The location of a value.

    Attributes:
        struct: The struct that contains the value.
        bare: The path without indexes, for type errors.
        path: The path with indexes, for errors about unknown fields.
    """

    struct: str
    bare: str
    path: str

    def field(self, struct: str, name: str) -> _Place:
        dot = "." if self.path else ""
        return _Place(struct, f"{self.bare}{dot}{name}", f"{self.path}{dot}{name}")

    def entry(self, suffix: str) -> _Place:
        return self._replace(path=self.path + suffix)


class _Reader:
    """A decoder for one document, which collects the paths of unknown fields."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._quiet = False

    def struct(self, name: str, body: Mapping[str, Any], place: _Place) -> JSONObject:
        fields = fields_of(name)
        read: JSONObject = {field.json: zero(field.shape) for field in fields.values() if field.kept}
        for key, value in body.items():
            field = fields.get(key)
            if field is not None:
                content = None if value is None else self._value(field.shape, value, place.field(name, key))
                if content is not None and (field.pointer or field.kept or not _is_empty(content)):
                    read[key] = content
            elif not self._quiet:
                self.unknown.append(place.field(name, key).path)
        order = list(fields)
        return {key: read[key] for key in sorted(read, key=order.index)} if len(read) > 1 else read

    def _value(self, shape: Shape, value: Any, place: _Place) -> Any:
        if not _fits(shape, value):
            raise Unreadable(_mismatch(shape, value, place))
        match shape:
            case Scalar():
                _check_text(shape, value)
                return value
            case ListOf():
                return [self._entry(shape.item, item, place.entry(f"[{at}]")) for at, item in enumerate(value)]
            case MapOf():
                return {key: self._entry(shape.item, value[key], place.entry(f".{key}")) for key in sorted(value)}
            case SchemaOr():
                return self._schema_or(shape, value, place)
            case Ref():
                return self.struct(shape.struct, value, place)

    def _entry(self, shape: Shape, value: Any, place: _Place) -> Any:
        return zero(shape) if value is None else self._value(shape, value, place)

    def _schema_or(self, shape: SchemaOr, value: Any, place: _Place) -> Any:
        """Decode a schema or a simpler value; return ``None`` if the real server drops it."""
        if isinstance(value, dict):
            # The real server has a custom decoder for these types, which ignores unknown fields.
            quiet, self._quiet = self._quiet, True
            schema = self.struct(_SCHEMA.struct, value, place)
            self._quiet = quiet
            return schema
        if shape.other == "bool":
            if not isinstance(value, bool):
                raise Unreadable("boolean or JSON schema expected")
            return value
        item = _SCHEMA if shape.other == "array" else _TEXT
        return self._value(ListOf(item=item), value, place) if isinstance(value, list) and value else None


def _is_empty(value: Any) -> bool:
    return not value and not isinstance(value, float)


def _fits(shape: Shape, value: Any) -> bool:
    match shape:
        case ListOf():
            return isinstance(value, list)
        case MapOf() | Ref():
            return isinstance(value, dict)
        case Scalar(kind="string" | "bytes" | "time"):
            return isinstance(value, str)
        case Scalar(kind="bool"):
            return isinstance(value, bool)
        case Scalar(kind="int", bits=bits):
            return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits - 1) <= value < 1 << bits - 1
        case Scalar(kind="float"):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Scalar(kind="object"):
            return isinstance(value, dict)
    return True


def _mismatch(shape: Shape, value: Any, place: _Place) -> str:
    got = json_name(value)
    if got == "number" and isinstance(shape, Scalar) and shape.kind == "int":
        got = f"number {value}"
    return f"json: cannot unmarshal {got} into Go struct field {place.struct}.{place.bare} of type {shape.name}"


def _check_text(shape: Scalar, value: Any) -> None:
    if shape.kind == "time" and not TIME.fullmatch(value):
        raise Unreadable(time_error(value))
    if shape.kind == "bytes":
        bare = value.rstrip("=")
        wrong = _NOT_BASE64.search(bare)
        if wrong or len(value) % 4 or len(value) - len(bare) > 2:
            raise Unreadable(f"illegal base64 data at input byte {wrong.start() if wrong else len(value)}")
