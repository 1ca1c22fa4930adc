"""Paths of printer columns: the fast evaluation of paths to conditions finds the values that JSONPath finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidJSONPath
from dynkube.meta import JSONPath
from dynkube_testing._tables.paths import _CONDITION, ABSENT, first_value

READY = '.status.conditions[?(@.type=="Ready")].status'

scalars = st.sampled_from(["Ready", "Other", "True", 1, None])
elements = st.dictionaries(st.sampled_from(["type", "status", "x"]), scalars) | scalars
documents = st.fixed_dictionaries(
    {},
    optional={"status": st.fixed_dictionaries({}, optional={"conditions": st.lists(elements, max_size=4) | scalars})},
)


@pytest.mark.parametrize(
    "text",
    [READY, ".status.conditions[?(@.type=='Ready')].status", '{.a-b.c[?( @.k == "v" )].x.y}'],
)
def test_paths_to_conditions_are_evaluated_fast(text: str) -> None:
    assert _CONDITION.fullmatch(text)


@pytest.mark.parametrize("text", ['.c[?(@.type!="a")].x', '.c[?(@.a.b=="a")].x', ".c[?(@.n==1)].x", ".c[0].x"])
def test_other_paths_are_evaluated_by_jsonpath(text: str) -> None:
    assert not _CONDITION.fullmatch(text)
    first_value(text)


@given(documents)
def test_fast_evaluation_and_jsonpath_find_the_same_value(document: dict[str, Any]) -> None:
    try:
        found = JSONPath.compile(READY, strict=True).find(document)
    except InvalidJSONPath:
        found = []

    assert first_value(READY)(document) == (found[0] if found else ABSENT)


def test_null_is_not_an_absent_value() -> None:
    assert first_value(".spec.x")({"spec": {"x": None}}) is None
    assert first_value(".spec.y")({"spec": {"x": None}}) is ABSENT
