"""Parts of an OpenAPI v2 document encoded as gnostic messages, compared as bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from dynkube_testing._wire.openapi import gnostic


@pytest.mark.parametrize(
    ("part", "encoded"),
    [
        ({"$ref": "#/definitions/A"}, b"\x0a\x0f#/definitions/A"),
        ({"format": "int32"}, b"\x12\x05int32"),
        ({"description": "ä"}, b"\x22\x02\xc3\xa4"),
        ({"maximum": 10}, b"\x39" + struct.pack("<d", 10.0)),
        ({"minimum": -1.5}, b"\x49" + struct.pack("<d", -1.5)),
        ({"exclusiveMaximum": True}, b"\x40\x01"),
        ({"minLength": 300}, b"\x60\xac\x02"),
        ({"uniqueItems": True}, b"\x80\x01\x01"),
        ({"required": ["a", "b"]}, b"\x9a\x01\x01a\x9a\x01\x01b"),
        ({"enum": [1]}, b"\xa2\x01\x03\x12\x011"),
        ({"type": "string"}, b"\xb2\x01\x08\x0a\x06string"),
        ({"items": {"format": "x"}}, b"\xba\x01\x05\x0a\x03\x12\x01x"),
        ({"additionalProperties": True}, b"\xaa\x01\x02\x10\x01"),
        ({"additionalProperties": {"format": "x"}}, b"\xaa\x01\x05\x0a\x03\x12\x01x"),
        ({"properties": {"a": {"format": "x"}}}, b"\xca\x01\x0a\x0a\x08\x0a\x01a\x12\x03\x12\x01x"),
        ({"externalDocs": {"url": "u", "description": "d"}}, b"\xea\x01\x06\x0a\x01d\x12\x01u"),
        ({"example": None}, b"\xf2\x01\x06\x12\x04null"),
        ({"x-y": [True]}, b"\xfa\x01\x0f\x0a\x03x-y\x12\x08\x12\x06[true]"),
    ],
)
def test_each_keyword_is_encoded_as_a_field_of_the_schema_message(part: dict[str, Any], encoded: bytes) -> None:
    assert gnostic.schema(part) == encoded


@pytest.mark.parametrize(
    ("part", "encoded"),
    [
        (
            {"name": "q", "in": "query", "description": "d", "type": "string"},
            b"\x12\x1a\x1a\x18\x12\x05query\x1a\x01d\x22\x01q\x32\x06string\xa0\x01\x01",
        ),
        (
            {"name": "p", "in": "path", "description": "d", "type": "string", "required": True},
            b"\x12\x1b\x22\x19\x08\x01\x12\x04path\x1a\x01d\x22\x01p\x2a\x06string\x98\x01\x01",
        ),
        (
            {"name": "body", "in": "body", "schema": {"$ref": "#"}, "required": True},
            b"\x0a\x13\x12\x04body\x1a\x04body\x20\x01\x2a\x03\x0a\x01#",
        ),
    ],
)
def test_query_path_and_body_parameters_have_separate_messages(part: dict[str, Any], encoded: bytes) -> None:
    assert gnostic.parameter(part) == encoded


def test_a_path_item_has_operations_and_parameters() -> None:
    operation = {
        "tags": ["t"],
        "description": "d",
        "operationId": "o",
        "schemes": ["https"],
        "responses": {"401": {"description": "u"}},
    }

    encoded = gnostic.path_item({"get": operation, "parameters": [{"$ref": "#"}]})

    texts = b"\x0a\x01t\x1a\x01d\x2a\x01o"
    responses = b"\x4a\x0e\x0a\x0c\x0a\x03401\x12\x05\x0a\x03\x0a\x01u"
    assert encoded == b"\x12\x20" + texts + responses + b"\x52\x05https" + b"\x4a\x05\x12\x03\x0a\x01#"
