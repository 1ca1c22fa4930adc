"""The summary of the fields that an update changed."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Unstructured
from dynkube.cli._changes import changed_fields, summary


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return changed_fields(Unstructured(old), Unstructured(new))


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"spec": {"x": 1}}, {"spec": {"x": 1}}, []),
        ({"spec": {"x": 1}}, {"spec": {"x": 2}}, ["spec.x"]),
        ({"spec": {"x": [1]}}, {"spec": {"x": [1, 2]}}, ["spec.x"]),
        ({"spec": {"x": 1}}, {"spec": {}}, ["spec.x"]),
        ({}, {"spec": {"x": 1, "y": 2}}, ["spec.x", "spec.y"]),
        ({"spec": {"x": 1}}, {}, ["spec.x"]),
        ({}, {"spec": {}}, ["spec"]),
        ({"spec": {"a": {"b": {"c": 1}}}}, {"spec": {"a": {"b": {"c": 2}}}}, ["spec.a.b"]),
        ({"spec": {"x": 1}}, {"spec": {"x": {"y": 1}}}, ["spec.x"]),
        ({"metadata": {"labels": {}}}, {"metadata": {"labels": {"a.b/c": "1"}}}, ["metadata.labels[a.b/c]"]),
        ({"data": {"b": "1", "a": "1"}}, {"data": {"b": "2", "a": "2"}}, ["data.a", "data.b"]),
    ],
)
def test_the_paths_of_changed_fields_are_sorted(old: dict[str, Any], new: dict[str, Any], paths: list[str]) -> None:
    assert changes(old, new) == paths


def test_fields_that_change_at_every_write_are_left_out() -> None:
    last_applied = "kubectl.kubernetes.io/last-applied-configuration"
    old = {"metadata": {"resourceVersion": "1", "generation": 1, "annotations": {last_applied: "{}"}}}
    new = {"metadata": {"resourceVersion": "2", "generation": 2, "annotations": {last_applied: "{1}"}}}

    assert changes(old, new) == []


def test_values_are_not_printed() -> None:
    assert changes({"data": {"password": "b2xk"}}, {"data": {"password": "bmV3"}}) == ["data.password"]


@pytest.mark.parametrize(
    ("paths", "text"), [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (list("abcde"), "a, b, c and 2 more")]
)
def test_of_many_paths_the_first_are_named_and_the_others_counted(paths: list[str], text: str) -> None:
    assert summary(paths) == text
