"""Two states of an object compared field by field, without a schema, with managedFields only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube import MISSING
from dynkube.fields import FieldSet
from dynkube.fields._diff.list_keys import Shape
from dynkube.fields._diff.walk import differences
from dynkube.fields._steps import same_json

SHAPE = Shape(
    [
        FieldSet(['.list[name="a"]', '.list[name="a"].ports[containerPort=80,protocol="TCP"].name', '.set[="x"]']),
        FieldSet([".atomic", ".atomic2", ".bare", ".map.a"]),
    ]
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, [(".a", 1, 2)]),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, [(".a.c", MISSING, 2)]),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {}}, [(".a.b.c", 1, MISSING), (".a.b.d", 2, MISSING)]),
        ({}, {"a": {}}, [(".a", MISSING, {})]),
        ({"a": None}, {}, [(".a", None, MISSING)]),
        ({"a": {"b": 1}}, {"a": "text"}, [(".a", {"b": 1}, "text")]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": True, "c": 2.0}}, [(".a.b", 1, True)]),  # equal in Python only
        ({"x": [1, 2]}, {"x": [1, 3]}, [(".x[1]", 2, 3)]),
        ({"x": [False]}, {"x": [0]}, [(".x[0]", False, 0)]),
        ({"x": [1, 2]}, {"x": [1]}, [(".x", [1, 2], [1])]),
        ({"x": [1]}, {}, [(".x", [1], MISSING)]),
        ({"set": ["x", "y"]}, {"set": ["y", "z"]}, [('.set[="x"]', "x", MISSING), ('.set[="z"]', MISSING, "z")]),
        ({"set": ["x", "y"]}, {"set": ["y", "x"]}, [(".set", ["x", "y"], ["y", "x"])]),
        (
            {"list": [{"name": "a", "v": 1}, {"name": "b", "v": 1}]},
            {"list": [{"name": "b", "v": 2}, {"name": "c"}]},
            [
                ('.list[name="a"]', {"name": "a", "v": 1}, MISSING),
                ('.list[name="b"].v', 1, 2),
                ('.list[name="c"]', MISSING, {"name": "c"}),
            ],
        ),
        (  # keys known for the nested lists of one item apply to those of the others
            {"list": [{"name": "b", "ports": [{"containerPort": 1, "protocol": "TCP"}]}]},
            {"list": [{"name": "b", "ports": [{"containerPort": 1, "protocol": "TCP", "name": "n"}]}]},
            [('.list[name="b"].ports[containerPort=1,protocol="TCP"].name', MISSING, "n")],
        ),
        ({"list": [{"v": 1}]}, {"list": [{"v": 2}]}, [(".list[0].v", 1, 2)]),  # the items are not of the expected form
        ({"list": [{"name": "a"}] * 2}, {"list": [{"name": "a"}]}, [(".list", [{"name": "a"}] * 2, [{"name": "a"}])]),
        (MISSING, {"a": {"b": 1}}, [(".a.b", MISSING, 1)]),
    ],
)
def test_each_difference_has_its_path_and_both_values(before: Any, after: Any, expected: list[Any]) -> None:
    assert [(str(path), old, new) for path, old, new in differences(before, after, SHAPE)] == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abs", max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["a", "set", "list"]), JSON), st.dictionaries(st.sampled_from(["a", "set"]), JSON)
)
def test_there_are_differences_if_and_only_if_the_objects_differ(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = list(differences(before, after, SHAPE))

    assert bool(found) == (not same_json(before, after))
    assert len({path for path, _, _ in found}) == len(found)
    assert all(old != new or not same_json(old, new) for _, old, new in found)
