"""Strategic merge patches: results and refusals as recorded from a kube-apiserver 1.36."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import APIError
from dynkube.testing._kinds.builtin import builtin_kinds
from dynkube.testing._patching.shapes import shape_of
from dynkube.testing._patching.strategic import strategically_merged

RECORDED = json.loads(Path(__file__).with_name("strategic_1_36.json").read_text())
# For each kind an object, and patches of it with the object that results or the refusal.
SHAPES = {kind.kind.lower(): shape_of(kind) for kind in builtin_kinds() if kind.kind in {"Deployment", "Service"}}


def _cases(outcome: str) -> list[Any]:
    return [
        pytest.param(kind, recorded["object"], case, id=f"{kind}: {case['case']}")
        for kind, recorded in RECORDED.items()
        for case in recorded["cases"]
        if outcome in case
    ]


@pytest.mark.parametrize(("kind", "obj", "case"), _cases("result"))
def test_a_patch_gives_what_the_real_server_gives(kind: str, obj: dict[str, Any], case: dict[str, Any]) -> None:
    before, patch = copy.deepcopy(obj), copy.deepcopy(case["patch"])

    result = strategically_merged(obj, case["patch"], SHAPES[kind])

    assert _without_empty(result) == _without_empty(case["result"])
    assert (obj, case["patch"]) == (before, patch), "arguments stay as they are"


@pytest.mark.parametrize(("kind", "obj", "case"), _cases("message"))
def test_a_patch_is_refused_as_the_real_server_refuses_it(kind: str, obj: dict[str, Any], case: dict[str, Any]) -> None:
    with pytest.raises(APIError) as refused:
        strategically_merged(obj, case["patch"], SHAPES[kind])

    assert (refused.value.status.code, refused.value.status.message) == (case["code"], case["message"])


def _without_empty(value: Any) -> Any:
    """What is empty after a patch is not written at all by the real server, which keeps objects as structs."""
    if isinstance(value, dict):
        return {key: part for key, item in value.items() if (part := _without_empty(item)) not in ({}, [], None)}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
