"""``x-kubernetes-validations``: the errors of rules, with the messages of kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, version
from tests.contract.schemas.kit import (
    DUPLICATE,
    INTEGER,
    INVALID,
    REQUIRED,
    STRING,
    TYPE_INVALID,
    Cause,
    Fields,
    fields,
)

pytestmark = pytest.mark.since("1.25", "rules were ignored")

FORBIDDEN = "FieldValueForbidden"
BLOCKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def ruled(schema: JSONObject, *rules: str | JSONObject) -> JSONObject:
    listed = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    return {**schema, "x-kubernetes-validations": listed}


NAMED = fields(namespace={**STRING, "maxLength": 9})
POINT = fields(x=INTEGER, y=INTEGER)
TEXTS = {"type": "array", "maxItems": 9, "items": {**STRING, "maxLength": 9}}
OVERLOAD = "'no such overload': call arguments did not match a supported operator, function or macro signature"

CASES = [
    (
        ruled(STRING, {"rule": "self != 'bad'", "message": "must not be bad"}),
        "good",
        "bad",
        [("spec.f", INVALID, 'Invalid value: "bad": must not be bad')],
    ),
    (ruled(INTEGER, "self > 1"), 2, 1, [("spec.f", INVALID, "Invalid value: 1: failed rule: self > 1")]),
    (
        ruled(
            POINT,
            {
                "rule": "self.x <= self.y",
                "messageExpression": "self.x > 5 ? 'x is large' : 'x is small'",
                "fieldPath": ".x",
                "reason": FORBIDDEN,
            },
        ),
        {"x": 1, "y": 2},
        {"x": 2, "y": 1},
        [("spec.f.x", FORBIDDEN, "Forbidden: x is small")],
    ),
    (
        ruled(NAMED, {"rule": "self.__namespace__ != 'kube'", "reason": REQUIRED, "message": "elsewhere"}),
        {"namespace": "a"},
        {"namespace": "kube"},
        [("spec.f", REQUIRED, "Required value: elsewhere")],
    ),
    (
        ruled(POINT, {"rule": "self.y != 77", "reason": DUPLICATE}),
        {"y": 1},
        {"y": 77},
        [("spec.f", DUPLICATE, "Duplicate value")],
    ),
    (
        {**TEXTS, "items": ruled({**STRING, "maxLength": 9}, "self.startsWith('x')")},
        ["x"],
        ["x", "y"],
        [("spec.f[1]", INVALID, "Invalid value: \"y\": failed rule: self.startsWith('x')")],
    ),
    (
        ruled(TEXTS, "self.size() != 3"),
        [],
        ["a", "b", "c"],
        [("spec.f", INVALID, "Invalid value: failed rule: self.size() != 3")],
    ),
    (
        {"type": "object", "additionalProperties": ruled(INTEGER, "self > 0")},
        {"a": 1},
        {"a": 0},
        [("spec.f[a]", INVALID, "Invalid value: 0: failed rule: self > 0")],
    ),
    (
        ruled(POINT, "self.x == 1"),
        {"x": 1},
        {},
        [("spec.f", INVALID, 'Invalid value: "object": no such key: x evaluating rule: self.x == 1')],
    ),
    (
        ruled({"type": "array", "maxItems": 3, "items": INTEGER}, "self[1] == 1"),
        [0, 1],
        [0],
        [("spec.f", INVALID, 'Invalid value: "array": index out of bounds: 1 evaluating rule: self[1] == 1')],
    ),
    (
        ruled(INTEGER, "1 / self == 1"),
        1,
        0,
        [("spec.f", INVALID, 'Invalid value: "integer": division by zero evaluating rule: 1 / self == 1')],
    ),
    (ruled({"type": "number"}, "self < 2.5"), 2, 3, [("spec.f", INVALID, "Invalid value: 3: failed rule: self < 2.5")]),
    (
        ruled({"x-kubernetes-int-or-string": True}, "self < 10"),
        1,
        "x",
        [("spec.f", INVALID, f'Invalid value: "": {OVERLOAD} for rule: self < 10')],
    ),
    (
        ruled(
            {**STRING, "maxLength": 9}, {"rule": "quantity(self).isLessThan(quantity('1Gi'))", "message": "too much"}
        ),
        "1Mi",
        "2Gi",
        [("spec.f", INVALID, 'Invalid value: "2Gi": too much')],
    ),
    (
        ruled(POINT, {"rule": "self.x > 1", "message": "large"}),
        {"x": 2},
        {"x": 0, "y": "n"},
        [
            ("spec.f.y", TYPE_INVALID, 'Invalid value: "string": spec.f.y in body must be of type integer: "string"'),
            ("<nil>", INVALID, BLOCKED),
        ],
    ),
]

CHANGES = [
    (
        ruled(INTEGER, {"rule": "self >= oldSelf", "message": "shrinks"}),
        5,
        4,
        ["spec.f: Invalid value: 4: shrinks"],
    ),
    (ruled(INTEGER, {"rule": "self >= oldSelf", "message": "shrinks"}), 5, 6, []),
    (
        ruled(INTEGER, {"rule": "oldSelf.hasValue() ? self > oldSelf.value() : self == 1", "optionalOldSelf": True}),
        1,
        2,
        [],
    ),
    (
        {
            "type": "array",
            "maxItems": 3,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": ruled(fields(["k"], k={**STRING, "maxLength": 3}, v=INTEGER), "self.v >= oldSelf.v"),
        },
        [{"k": "a", "v": 2}, {"k": "b", "v": 1}],
        [{"k": "b", "v": 0}, {"k": "a", "v": 3}, {"k": "c", "v": 0}],
        ["spec.f[0]: Invalid value: failed rule: self.v >= oldSelf.v"],
    ),
]
SCHEMAS = [case[0] for case in [*CASES, *CHANGES]]


@pytest.mark.parametrize(("schema", "good", "bad", "found"), CASES)
async def test_a_value_that_violates_a_rule_has_these_causes(
    widgets: Fields, schema: JSONObject, good: Any, bad: Any, found: list[Cause]
) -> None:
    assert await widgets.stored(schema, good) == good
    assert await widgets.causes(schema, bad) == found


@pytest.mark.parametrize(("schema", "before", "after", "found"), CHANGES)
async def test_rules_with_old_self_validate_updates(
    widgets: Fields, schema: JSONObject, before: Any, after: Any, found: list[str]
) -> None:
    assert await widgets.changed(schema, before, after) == found


async def test_a_rule_on_the_whole_object_can_use_its_name(cluster: Cluster) -> None:
    rule = {"rule": "self.metadata.name.startsWith('c')", "message": "no"}
    schema = {"openAPIV3Schema": ruled(fields(), rule)}
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema)]))

    await cluster.create("widgets", cluster.widget("c"))
    with pytest.raises(Invalid) as caught:
        await cluster.create("widgets", cluster.widget("w"))

    assert [(cause.field, cause.message) for cause in caught.value.causes] == [("<nil>", "Invalid value: no")]
