"""Patterns, lengths and limits. Causes are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.contract.schemas.kit import INVALID, TOO_LONG

CASES = [
    pytest.param(
        {"type": "string", "pattern": "^[a-z]+$"},
        "abc",
        "ABC",
        [("spec.f", INVALID, "Invalid value: \"ABC\": spec.f in body should match '^[a-z]+$'")],
        id="pattern",
    ),
    pytest.param(
        {"type": "string", "pattern": "^[a-z]+$"},
        "abc",
        "abc\n",
        [("spec.f", INVALID, "Invalid value: \"abc\\n\": spec.f in body should match '^[a-z]+$'")],
        id="pattern newline",
    ),
    pytest.param(
        {"type": "string", "minLength": 2},
        "ab",
        "a",
        [("spec.f", INVALID, 'Invalid value: "a": spec.f in body should be at least 2 chars long')],
        id="minLength",
    ),
    pytest.param(
        {"type": "string", "maxLength": 2},
        "äö",
        "abc",
        [("spec.f", TOO_LONG, "Too long: may not be more than 2 bytes")],
        id="maxLength",
    ),
    pytest.param(
        {"type": "string", "maxLength": 1},
        "a",
        "abc",
        [("spec.f", TOO_LONG, "Too long: may not be more than 1 byte")],
        id="maxLength 1",
    ),
    pytest.param(
        {"type": "string", "minLength": 3, "pattern": "^a"},
        "abc",
        "b",
        [("spec.f", INVALID, 'Invalid value: "b": spec.f in body should be at least 3 chars long')],
        id="length and pattern",
    ),
    pytest.param(
        {"type": "integer", "minimum": 2},
        2,
        1,
        [("spec.f", INVALID, "Invalid value: 1: spec.f in body should be greater than or equal to 2")],
        id="minimum",
    ),
    pytest.param(
        {"type": "integer", "maximum": 2},
        2,
        3,
        [("spec.f", INVALID, "Invalid value: 3: spec.f in body should be less than or equal to 2")],
        id="maximum",
    ),
    pytest.param(
        {"type": "integer", "minimum": 2, "exclusiveMinimum": True},
        3,
        2,
        [("spec.f", INVALID, "Invalid value: 2: spec.f in body should be greater than 2")],
        id="exclusiveMinimum",
    ),
    pytest.param(
        {"type": "integer", "maximum": 2, "exclusiveMaximum": True},
        1,
        2,
        [("spec.f", INVALID, "Invalid value: 2: spec.f in body should be less than 2")],
        id="exclusiveMaximum",
    ),
    pytest.param(
        {"type": "number", "minimum": 0.5},
        0.5,
        0.25,
        [("spec.f", INVALID, "Invalid value: 0.25: spec.f in body should be greater than or equal to 0.5")],
        id="minimum number",
    ),
    pytest.param(
        {"type": "number", "maximum": 1.5},
        1.5,
        1e21,
        [("spec.f", INVALID, "Invalid value: 1e+21: spec.f in body should be less than or equal to 1.5")],
        id="maximum number",
    ),
    pytest.param(
        {"type": "integer", "multipleOf": 3},
        9,
        10,
        [("spec.f", INVALID, "Invalid value: 10: spec.f in body should be a multiple of 3")],
        id="multipleOf",
    ),
    pytest.param(
        {"type": "number", "multipleOf": 0.5},
        1.5,
        1.6,
        [("spec.f", INVALID, "Invalid value: 1.6: spec.f in body should be a multiple of 0.5")],
        id="multipleOf number",
    ),
    pytest.param(
        {"type": "string", "maxLength": 0},
        "",
        "<a>",
        [("spec.f", TOO_LONG, "Too long: may not be more than 0 bytes")],
        id="html",
        marks=pytest.mark.since("1.25", "an empty string under maxLength 0 was invalid as null"),
    ),
    pytest.param(
        {"type": "string", "pattern": "^a$"},
        "a",
        'say "é" \t',
        [("spec.f", INVALID, 'Invalid value: "say \\"é\\" \\t": spec.f in body should match \'^a$\'')],
        id="quoted",
    ),
]
