"""For any schema and object, pruning and defaulting are idempotent."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.content import admits_all
from dynkube_testing._schemas.correlation import Link, same_json
from dynkube_testing._schemas.defaulting import defaulted
from dynkube_testing._schemas.pruning import pruned
from dynkube_testing._schemas.structural import Structural
from dynkube_testing._schemas.validation import schema_causes

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "y"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def extend(inner: st.SearchStrategy[JSONObject]) -> st.SearchStrategy[JSONObject]:
    fields = st.dictionaries(NAMES, inner, max_size=3)
    return st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda properties: {"type": "object", "properties": properties}, fields),
        st.builds(lambda schema: {"type": "object", "additionalProperties": schema}, inner),
        st.builds(
            lambda properties: {
                "type": "object",
                "properties": properties,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            fields,
        ),
    )


LEAVES = st.one_of(
    st.builds(lambda nullable: {"type": "string", "nullable": nullable}, st.booleans()),
    st.builds(lambda default: {"type": "integer", "default": default}, st.integers(0, 3)),
)
SCHEMAS = st.recursive(LEAVES, extend, max_leaves=6)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


def structural(schemas: dict[str, JSONObject]) -> Structural:
    return Structural({"type": "object", "properties": schemas})


def decoded(obj: JSONObject, schema: Structural) -> Any:
    return defaulted(pruned(obj, schema.root)[0], schema.root)


@given(st.dictionaries(NAMES, SCHEMAS, max_size=3), OBJECTS)
def test_pruning_and_defaulting_twice_changes_nothing(schemas: dict[str, JSONObject], obj: JSONObject) -> None:
    schema = structural(schemas)
    once = decoded(obj, schema)

    again, unknown = pruned(once, schema.root)

    assert unknown == []
    assert same_json(defaulted(again, schema.root), once)


@given(st.dictionaries(NAMES, SCHEMAS, max_size=3), st.dictionaries(NAMES, SCHEMAS, max_size=3), OBJECTS)
def test_a_schema_that_admits_all_objects_of_another_does_not_change_them(
    old: dict[str, JSONObject], new: dict[str, JSONObject], obj: JSONObject
) -> None:
    before, after = structural(old), structural({**old, **new})
    stored = decoded(obj, before)

    if admits_all(after.root, before.root):
        assert same_json(decoded(stored, after), stored)


@given(st.dictionaries(NAMES, SCHEMAS, max_size=3), OBJECTS)
def test_an_unchanged_object_is_never_rejected(schemas: dict[str, JSONObject], obj: JSONObject) -> None:
    schema = structural(schemas)

    assert schema_causes(obj, schema.root, Link(obj, obj, schema.root)) == []
