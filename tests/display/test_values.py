"""Values as YAML: text that was not cut parses to the same value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube._display.values import ValueLimits, yaml_code
from dynkube.meta._yaml import loading as yaml

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" \n"), max_size=20)
LEAVES = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))
WIDE = ValueLimits(lines=10_000, width=10_000, depth=100)


def text(value: Any, limits: ValueLimits = WIDE) -> str:
    return "".join(f"{''.join(span.text for span in line)}\n" for line in yaml_code(value, limits).lines)


@given(VALUES)
def test_the_yaml_parses_to_the_same_value(value: Any) -> None:
    assert yaml.load_document(text({"value": value})) == {"value": value}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": {}, "b": [], "c": None}, "a: {}\nb: []\nc: null"),
        ({"ports": [{"port": 80, "name": "http"}]}, "ports:\n- port: 80\n  name: http"),
        ({"a": [["x"], [{"b": ["c"]}]]}, "a:\n- - x\n- - b:\n    - c"),
        ({"args": ["--port=80", "-v", "a b"]}, "args:\n- --port=80\n- -v\n- a b"),
        ({"cpu": "100m", "memory": "1Gi", "surge": "25%"}, "cpu: 100m\nmemory: 1Gi\nsurge: 25%"),
        ({"image": "example.com/web:1.2"}, "image: example.com/web:1.2"),
        ({"a": "true", "b": "12", "c": "1e3", "d": ""}, 'a: "true"\nb: "12"\nc: "1e3"\nd: ""'),
        ({"a": "x: y", "b": "#", "c": " x"}, 'a: "x: y"\nb: "#"\nc: " x"'),
        ({"text": "one\ntwo\n"}, "text: |\n  one\n  two"),
    ],
)
def test_the_yaml_has_the_usual_style(value: Any, shown: str) -> None:
    assert text(value) == f"{shown}\n"
