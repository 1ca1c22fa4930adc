"""Fields and items. Causes are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.contract.schemas.kit import (
    INTEGER,
    INVALID,
    REQUIRED,
    STRING,
    TOO_MANY,
    TYPE_INVALID,
)

CASES = [
    pytest.param(
        {"type": "array", "items": STRING, "minItems": 1},
        ["a"],
        [],
        [("spec.f", INVALID, "Invalid value: 0: spec.f in body should have at least 1 items")],
        id="minItems",
    ),
    pytest.param(
        {"type": "array", "items": STRING, "maxItems": 1},
        ["a"],
        ["a", "b"],
        [("spec.f", TOO_MANY, "Too many: 2: must have at most 1 item")],
        id="maxItems",
    ),
    pytest.param(
        {"type": "array", "items": STRING, "maxItems": 2},
        ["a"],
        ["a", "b", "c"],
        [("spec.f", TOO_MANY, "Too many: 3: must have at most 2 items")],
        id="maxItems 2",
    ),
    pytest.param(
        {"type": "object", "minProperties": 1, "additionalProperties": STRING},
        {"a": "b"},
        {},
        [("spec.f", INVALID, "Invalid value: 0: spec.f in body should have at least 1 properties")],
        id="minProperties",
    ),
    pytest.param(
        {"type": "object", "maxProperties": 1, "additionalProperties": STRING},
        {"a": "b"},
        {"a": "b", "c": "d"},
        [("spec.f", TOO_MANY, "Too many: 2: must have at most 1 item")],
        id="maxProperties",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]},
        {"a": "x", "b": "y"},
        {},
        [("spec.f.a", REQUIRED, "Required value"), ("spec.f.b", REQUIRED, "Required value")],
        id="required",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a"]},
        {"a": "x"},
        {"b": "x"},
        [("spec.f.a", REQUIRED, "Required value")],
        id="required one",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": INTEGER}}}},
        {"a": {"b": 1}},
        {"a": {"b": "x"}},
        [("spec.f.a.b", TYPE_INVALID, 'Invalid value: "string": spec.f.a.b in body must be of type integer: "string"')],
        id="properties",
    ),
    pytest.param(
        {"type": "object", "additionalProperties": INTEGER},
        {"a": 1},
        {"a": "x"},
        [("spec.f.a", TYPE_INVALID, 'Invalid value: "string": spec.f.a in body must be of type integer: "string"')],
        id="additionalProperties",
    ),
    pytest.param(
        {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": INTEGER}, "required": ["y"]}},
        {},
        {"a": {"x": "x"}},
        [
            (
                "spec.f.a.x",
                TYPE_INVALID,
                'Invalid value: "string": spec.f.a.x in body must be of type integer: "string"',
            ),
            ("spec.f.a.y", REQUIRED, "Required value"),
        ],
        id="additionalProperties nested",
    ),
    pytest.param(
        {"type": "array", "items": {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}},
        [{"a": 1}],
        [{"a": 1}, {}, {"a": "x"}],
        [
            ("spec.f[1].a", REQUIRED, "Required value"),
            (
                "spec.f[2].a",
                TYPE_INVALID,
                'Invalid value: "string": spec.f[2].a in body must be of type integer: "string"',
            ),
        ],
        id="items",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": INTEGER}, "x-kubernetes-preserve-unknown-fields": True},
        {"b": {"c": 1}},
        {"a": "x", "b": 1},
        [("spec.f.a", TYPE_INVALID, 'Invalid value: "string": spec.f.a in body must be of type integer: "string"')],
        id="preserve-unknown-fields",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": INTEGER, "b": STRING}, "required": ["c"], "minProperties": 5},
        None,
        {"a": "x", "b": 1},
        [
            ("spec.f", INVALID, "Invalid value: 2: spec.f in body should have at least 5 properties"),
            ("spec.f.a", TYPE_INVALID, 'Invalid value: "string": spec.f.a in body must be of type integer: "string"'),
            ("spec.f.b", TYPE_INVALID, 'Invalid value: "integer": spec.f.b in body must be of type string: "integer"'),
            ("spec.f.c", REQUIRED, "Required value"),
        ],
        id="several",
        marks=pytest.mark.since("1.25", "a wrong number of items hid errors inside"),
    ),
]
