"""Helpers for argument errors: names of types, and numbers of seconds."""

from __future__ import annotations

import math

import pytest

from dynkube.meta._arguments import a_type, is_seconds


@pytest.mark.parametrize(("value", "described"), [(3, "an int"), ([], "a list"), (None, "None"), (b"", "bytes")])
def test_the_type_of_an_argument_is_named_with_its_article(value: object, described: str) -> None:
    assert a_type(value) == described


@pytest.mark.parametrize("seconds", [1, 0.5, math.inf])
def test_positive_numbers_are_seconds(seconds: object) -> None:
    assert is_seconds(seconds)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, True, "3", None])
def test_other_values_are_not_seconds(wrong: object) -> None:
    assert not is_seconds(wrong)
