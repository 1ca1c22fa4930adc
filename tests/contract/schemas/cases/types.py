"""Types, null and enumerations. Causes are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.contract.schemas.kit import INTEGER, INVALID, NOT_SUPPORTED, STRING, TYPE_INVALID

CASES = [
    pytest.param(
        STRING,
        "a",
        1,
        [("spec.f", TYPE_INVALID, 'Invalid value: "integer": spec.f in body must be of type string: "integer"')],
        id="type string",
    ),
    pytest.param(
        INTEGER,
        1,
        "a",
        [("spec.f", TYPE_INVALID, 'Invalid value: "string": spec.f in body must be of type integer: "string"')],
        id="type integer",
    ),
    pytest.param(
        INTEGER,
        1.0,
        1.5,
        [
            ("spec.f", TYPE_INVALID, 'Invalid value: "number": spec.f in body must be of type integer: "number"'),
            ("<nil>", INVALID, 'Invalid value: "": Checked value must be of type integer (default format) in spec.f'),
        ],
        id="type integer whole",
    ),
    pytest.param(
        INTEGER,
        1,
        True,
        [("spec.f", TYPE_INVALID, 'Invalid value: "boolean": spec.f in body must be of type integer: "boolean"')],
        id="type integer bool",
    ),
    pytest.param(
        {"type": "number"},
        1.5,
        "a",
        [("spec.f", TYPE_INVALID, 'Invalid value: "string": spec.f in body must be of type number: "string"')],
        id="type number",
    ),
    pytest.param(
        {"type": "boolean"},
        True,
        1,
        [("spec.f", TYPE_INVALID, 'Invalid value: "integer": spec.f in body must be of type boolean: "integer"')],
        id="type boolean",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": STRING}},
        {"a": "x"},
        [1],
        [("spec.f", TYPE_INVALID, 'Invalid value: "array": spec.f in body must be of type object: "array"')],
        id="type object",
    ),
    pytest.param(
        {"type": "array", "items": STRING},
        ["x"],
        {"a": "x"},
        [("spec.f", TYPE_INVALID, 'Invalid value: "object": spec.f in body must be of type array: "object"')],
        id="type array",
    ),
    pytest.param(
        STRING,
        "a",
        {"a": 1},
        [("spec.f", TYPE_INVALID, 'Invalid value: "object": spec.f in body must be of type string: "object"')],
        id="type string object",
    ),
    pytest.param(
        STRING,
        "a",
        [1],
        [("spec.f", TYPE_INVALID, 'Invalid value: "array": spec.f in body must be of type string: "array"')],
        id="type string list",
    ),
    pytest.param(
        {"type": "array", "items": INTEGER},
        [1],
        [1, "a", True],
        [
            ("spec.f[1]", TYPE_INVALID, 'Invalid value: "string": spec.f[1] in body must be of type integer: "string"'),
            (
                "spec.f[2]",
                TYPE_INVALID,
                'Invalid value: "boolean": spec.f[2] in body must be of type integer: "boolean"',
            ),
        ],
        id="type in items",
    ),
    pytest.param(
        {"type": "string", "nullable": True},
        None,
        1,
        [("spec.f", TYPE_INVALID, 'Invalid value: "integer": spec.f in body must be of type string: "integer"')],
        id="nullable",
    ),
    pytest.param(
        {"type": "array", "items": {"type": "string", "nullable": True}},
        [None],
        [1],
        [("spec.f[0]", TYPE_INVALID, 'Invalid value: "integer": spec.f[0] in body must be of type string: "integer"')],
        id="nullable list",
    ),
    pytest.param(
        {"type": "array", "items": STRING},
        ["a"],
        [None],
        [("spec.f[0]", TYPE_INVALID, 'Invalid value: "null": spec.f[0] in body must be of type string: "null"')],
        id="null items",
    ),
    pytest.param(
        {"type": "string", "enum": ["a", "b"]},
        "a",
        "c",
        [("spec.f", NOT_SUPPORTED, 'Unsupported value: "c": supported values: "a", "b"')],
        id="enum",
    ),
    pytest.param(
        {"type": "integer", "enum": [1, 2]},
        1,
        3,
        [("spec.f", NOT_SUPPORTED, 'Unsupported value: 3: supported values: "1", "2"')],
        id="enum int",
    ),
    pytest.param(
        {"type": "string", "nullable": True, "enum": ["a"]},
        "a",
        None,
        [("spec.f", NOT_SUPPORTED, 'Unsupported value: null: supported values: "a"')],
        id="enum null",
    ),
    pytest.param(
        {"type": "string", "enum": ["a", "b"]},
        "a",
        1,
        [
            ("spec.f", TYPE_INVALID, 'Invalid value: "integer": spec.f in body must be of type string: "integer"'),
            ("spec.f", NOT_SUPPORTED, 'Unsupported value: 1: supported values: "a", "b"'),
        ],
        id="enum type",
    ),
    pytest.param(
        {"x-kubernetes-int-or-string": True},
        "80%",
        True,
        [
            (
                "spec.f",
                TYPE_INVALID,
                'Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean"',
            )
        ],
        id="int-or-string",
    ),
    pytest.param(
        {"x-kubernetes-int-or-string": True},
        80,
        1.5,
        [("spec.f", TYPE_INVALID, 'Invalid value: "number": spec.f in body must be of type integer,string: "number"')],
        id="int-or-string float",
    ),
    pytest.param(
        {"x-kubernetes-int-or-string": True, "anyOf": [INTEGER, STRING], "pattern": "^[0-9]+%$"},
        "5%",
        "x",
        [("spec.f", INVALID, "Invalid value: \"x\": spec.f in body should match '^[0-9]+%$'")],
        id="int-or-string anyOf",
    ),
]
