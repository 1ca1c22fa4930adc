"""OpenAPI v2 in protobuf, as client-go requests it.

This is the required subset of gnostic's messages.

kubectl still requires it for some uses of version 2: client-side validation of ``kind: List``, and
``explain --output=plaintext-openapiv2``. Field numbers are those of
https://github.com/google/gnostic-models/blob/main/openapiv2/OpenAPIv2.proto. Keywords that its Schema does not have
(``oneOf``, ``nullable``) must not occur, and are not part of version 2 anyway.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

# A part of a document, as decoded JSON.
Part: TypeAlias = Mapping[str, Any]

# ── the wire format: https://protobuf.dev/programming-guides/encoding/ ────────────────────────


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def message(field: int, content: bytes) -> bytes:
    """Encode a field with a message as its value.

    Call this for each value of a repeated field.
    """
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """Encode a string field."""
    return message(field, value.encode())


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _any(field: int, value: object) -> bytes:
    # An Any contains YAML, of which JSON is a subset.
    return message(field, message(2, msgspec.json.encode(value)))


def _texts(field: int, values: Iterable[str]) -> bytes:
    return b"".join(text(field, value) for value in values)


def named(field: int, name: str, content: bytes) -> bytes:
    """Encode an entry of a map.

    In gnostic it is a message with a name and a value.
    """
    return message(field, text(1, name) + message(2, content))


def _extensions(field: int, part: Part) -> bytes:
    found = ((name, value) for name, value in part.items() if name.startswith("x-"))
    return b"".join(message(field, text(1, name) + _any(2, value)) for name, value in found)


# ── schemas ───────────────────────────────────────────────────────────────────────────────────

_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_DOUBLES = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_NUMBERS = {
    "exclusiveMaximum": 8,
    "exclusiveMinimum": 10,
    "maxLength": 11,
    "minLength": 12,
    "maxItems": 14,
    "minItems": 15,
    "uniqueItems": 16,
    "maxProperties": 17,
    "minProperties": 18,
}


def schema(part: Part) -> bytes:
    """Encode a ``Schema``."""
    return b"".join(_keyword(key, value) for key, value in part.items()) + _extensions(31, part)


def _keyword(key: str, value: Any) -> bytes:
    if key in _TEXTS:
        return text(_TEXTS[key], value)
    if key in _NUMBERS:
        return _number(_NUMBERS[key], int(value))
    if key in _DOUBLES:
        return _double(_DOUBLES[key], value)
    match key:
        case "type":
            return message(22, text(1, value))
        case "properties":
            return message(25, b"".join(named(1, name, schema(part)) for name, part in value.items()))
        case "items":
            return message(23, message(1, schema(value)))
        case "additionalProperties":
            return message(21, _number(2, value) if isinstance(value, bool) else message(1, schema(value)))
        case "required":
            return _texts(19, value)
        case "enum":
            return b"".join(_any(20, entry) for entry in value)
        case "externalDocs":
            return message(29, text(1, value.get("description", "")) + text(2, value.get("url", "")))
        case "example":
            return _any(30, value)
    return b""


# ── paths ─────────────────────────────────────────────────────────────────────────────────────

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def path_item(part: Part) -> bytes:
    """Encode a ``PathItem``."""
    operations = (message(_METHODS[method], _operation(part[method])) for method in part if method in _METHODS)
    return b"".join(operations) + b"".join(message(9, _parameters_item(entry)) for entry in part.get("parameters", ()))


def _operation(part: Part) -> bytes:
    responses = (named(1, code, message(1, _response(answer))) for code, answer in part["responses"].items())
    return b"".join(
        (
            _texts(1, part["tags"]),
            text(3, part["description"]),
            text(5, part["operationId"]),
            _texts(6, part.get("produces", ())),
            _texts(7, part.get("consumes", ())),
            *(message(8, _parameters_item(entry)) for entry in part.get("parameters", ())),
            message(9, b"".join(responses)),
            _texts(10, part["schemes"]),
            _extensions(13, part),
        )
    )


def _response(part: Part) -> bytes:
    answered = message(2, message(1, schema(part["schema"]))) if "schema" in part else b""
    return text(1, part["description"]) + answered


def _parameters_item(part: Part) -> bytes:
    if "$ref" in part:
        return message(2, text(1, part["$ref"]))
    return message(1, parameter(part))


def parameter(part: Part) -> bytes:
    """Encode a ``Parameter``."""
    required = _number(4 if part["in"] == "body" else 1, True) if part.get("required") else b""
    if part["in"] == "body":
        return message(1, text(2, part["name"]) + text(3, "body") + required + message(5, schema(part["schema"])))
    # Query and path parameters are different messages, with the same numbers only for the first fields.
    in_query = part["in"] == "query"
    content = required + text(2, part["in"]) + text(3, part["description"]) + text(4, part["name"])
    content += text(6 if in_query else 5, part["type"]) + _number(20 if in_query else 19, True)
    return message(2, message(3 if in_query else 4, content))


# ── document ──────────────────────────────────────────────────────────────────────────────────


def document(part: Part, paths: Iterable[bytes], definitions: Iterable[bytes]) -> bytes:
    """Encode a ``Document``.

    ``part`` has everything but the paths and definitions, which are entries encoded by :func:`named`.
    """
    info = text(1, part["info"]["title"]) + text(2, part["info"]["version"])
    shared = b"".join(named(1, name, parameter(entry)) for name, entry in part["parameters"].items())
    security = b"".join(named(1, name, message(2, _key(entry))) for name, entry in part["securityDefinitions"].items())
    needed = (named(1, name, _texts(1, scopes)) for entry in part["security"] for name, scopes in entry.items())
    return b"".join(
        (
            text(1, part["swagger"]),
            message(2, info),
            message(8, b"".join(paths)),
            message(9, b"".join(definitions)),
            message(10, shared),
            *(message(12, entry) for entry in needed),
            message(13, security),
        )
    )


def _key(part: Part) -> bytes:
    return text(1, part["type"]) + text(2, part["name"]) + text(3, part["in"]) + text(4, part["description"])
