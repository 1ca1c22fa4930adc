"""Docstrings of the verbs document all arguments and exceptions."""

from __future__ import annotations

import inspect
import re

import pytest

import dynkube
from dynkube.client import ResourceClient, SubresourceClient

VERBS = [
    (face, name)
    for face in (dynkube.Client, ResourceClient, SubresourceClient)
    for name, function in inspect.getmembers(face, inspect.iscoroutinefunction)
    if not name.startswith("_")
]


@pytest.mark.parametrize(("face", "name"), VERBS, ids=[f"{face.__name__}.{name}" for face, name in VERBS])
def test_arguments_exceptions_and_results_are_documented(face: type, name: str) -> None:
    function = getattr(face, name)
    text = inspect.getdoc(function) or ""

    explained = set(re.findall(r"^    (\w+): ", text, re.MULTILINE))
    arguments = set(inspect.signature(function).parameters) - {"self"}
    assert arguments <= explained
    assert "Raises:\n    " in text
    returns = inspect.signature(function).return_annotation
    assert returns in ("None", None) or "Returns:" in text or len(arguments) == 0
