"""allOf, anyOf, oneOf, not. Causes are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.contract.schemas.kit import INTEGER, INVALID, REQUIRED, STRING

CASES = [
    pytest.param(
        {"type": "integer", "allOf": [{"minimum": 2}, {"multipleOf": 2}]},
        4,
        1,
        [
            ("spec.f", INVALID, "Invalid value: 1: spec.f in body should be greater than or equal to 2"),
            ("spec.f", INVALID, "Invalid value: 1: spec.f in body should be a multiple of 2"),
            ("<nil>", INVALID, 'Invalid value: "": "spec.f" must validate all the schemas (allOf). None validated'),
        ],
        id="allOf",
    ),
    pytest.param(
        {"type": "integer", "allOf": [{"minimum": 2}, {"multipleOf": 2}]},
        4,
        3,
        [
            ("spec.f", INVALID, "Invalid value: 3: spec.f in body should be a multiple of 2"),
            ("<nil>", INVALID, 'Invalid value: "": "spec.f" must validate all the schemas (allOf)'),
        ],
        id="allOf one",
    ),
    pytest.param(
        {"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 2}]},
        1,
        5,
        [
            ("<nil>", INVALID, 'Invalid value: "": "spec.f" must validate at least one schema (anyOf)'),
            ("spec.f", INVALID, "Invalid value: 5: spec.f in body should be greater than or equal to 10"),
        ],
        id="anyOf",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": STRING, "b": STRING},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"a": "x"},
        {},
        [
            ("<nil>", INVALID, 'Invalid value: "": "spec.f" must validate at least one schema (anyOf)'),
            ("spec.f.a", REQUIRED, "Required value"),
        ],
        id="anyOf required",
    ),
    pytest.param(
        {"type": "integer", "oneOf": [{"minimum": 10}, {"multipleOf": 2}]},
        4,
        12,
        [
            (
                "<nil>",
                INVALID,
                'Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives',
            )
        ],
        id="oneOf",
    ),
    pytest.param(
        {"type": "integer", "oneOf": [{"minimum": 10}, {"multipleOf": 2}]},
        4,
        3,
        [
            (
                "<nil>",
                INVALID,
                'Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid',
            ),
            ("spec.f", INVALID, "Invalid value: 3: spec.f in body should be greater than or equal to 10"),
        ],
        id="oneOf none",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"a": STRING, "b": STRING},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"a": "x"},
        {"a": "x", "b": "y"},
        [
            (
                "<nil>",
                INVALID,
                'Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives',
            )
        ],
        id="oneOf required",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"t": STRING, "n": INTEGER},
            "oneOf": [
                {"properties": {"t": {"enum": ["x"]}, "n": {"minimum": 5}}, "required": ["t", "n"]},
                {"properties": {"t": {"enum": ["y"]}}},
            ],
        },
        {"t": "y"},
        {"t": "x", "n": 1},
        [
            (
                "<nil>",
                INVALID,
                'Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid',
            ),
            ("spec.f.n", INVALID, "Invalid value: 1: spec.f.n in body should be greater than or equal to 5"),
        ],
        id="oneOf best",
    ),
    pytest.param(
        {"type": "string", "not": {"enum": ["a"]}},
        "b",
        "a",
        [("<nil>", INVALID, 'Invalid value: "": "spec.f" must not validate the schema (not)')],
        id="not",
    ),
    pytest.param(
        {"type": "array", "items": {"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]}},
        ["a", "b"],
        ["a", "c"],
        [
            ("<nil>", INVALID, 'Invalid value: "": "spec.f[1]" must validate at least one schema (anyOf)'),
            ("spec.f[1]", INVALID, "Invalid value: \"c\": spec.f[1] in body should match '^a'"),
        ],
        id="anyOf in item",
    ),
]
