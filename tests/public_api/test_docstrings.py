"""Docstrings of the verbs document all arguments and exceptions."""

from __future__ import annotations

import inspect
import re

import pytest

import dynkube
from dynkube.client import ResourceClient, SubresourceClient

VERBS = [
    (owner, name)
    for owner in (dynkube.Client, ResourceClient, SubresourceClient)
    for name, function in inspect.getmembers(owner, inspect.iscoroutinefunction)
    if not name.startswith("_")
]


@pytest.mark.parametrize(("owner", "name"), VERBS, ids=[f"{owner.__name__}.{name}" for owner, name in VERBS])
def test_arguments_exceptions_and_results_are_documented(owner: type, name: str) -> None:
    function = getattr(owner, name)
    text = inspect.getdoc(function) or ""

    explained = set(re.findall(r"^    (\w+): ", text, re.MULTILINE))
    arguments = set(inspect.signature(function).parameters) - {"self"}
    assert arguments <= explained
    assert "Raises:\n    " in text
    returns = inspect.signature(function).return_annotation
    assert returns in ("None", None) or "Returns:" in text or len(arguments) == 0
