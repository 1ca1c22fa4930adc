"""Equality of JSON values as in Kubernetes: numbers by value, and booleans are not numbers."""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.fields._steps import same_json
from dynkube.meta._frozen import freeze

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 2.5, 2**70, "", "1", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


class Text(str):
    """A subclass of str."""

    __slots__ = ()


def same_by_definition(one: Any, other: Any) -> bool:
    """Compare two values recursively."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_by_definition(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_by_definition, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


@given(VALUES, VALUES)
def test_values_are_equal_if_all_their_parts_are(one: Any, other: Any) -> None:
    assert same_json(one, other) == same_by_definition(one, other)
    assert same_json(one, freeze(one))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ([0], [False], False),
        ([0], [None], False),
        ([0.0], [-0.0], True),
        ([Text("x")], ["x"], True),
        ([("x", 1)], [["x", 1]], True),
        (MappingProxyType({"a": 1}), {"a": 1}, True),
        ({"a": "\ud800"}, {"a": "\ud800"}, True),
    ],
)
def test_values_written_differently_may_be_equal(one: Any, other: Any, same: bool) -> None:
    assert same_json(one, other) is same
    assert same_json(other, one) is same


def test_equal_values_are_compared_without_python_calls_per_item() -> None:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def large() -> Any:
        return {"items": [{"name": f"n{index}", "ports": [{"port": index, "on": True}]} for index in range(1_000)]}

    one, other = large(), large()
    sys.setprofile(count)
    found = same_json(one, other)
    sys.setprofile(None)

    assert found
    assert calls < 10
