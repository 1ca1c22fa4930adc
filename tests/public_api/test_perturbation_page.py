"""The tutorial on perturbation testing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import InvalidInput
from dynkube_testing import FAMILIES, perturb
from tests.public_api.documents import python_blocks

PAGE = "docs/perturbation.md"
PROGRAM, SCENARIO, FIXED, NORMALIZED, TEST, COMMAND = python_blocks(PAGE)

pytestmark = pytest.mark.real_time  # each run is a trio run of its own


def test_the_bug_of_the_tutorial_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}

    exec(PROGRAM, names)
    exec(SCENARIO, names)

    printed = capsys.readouterr().out
    assert re.search(r"30 plans .*: 2 findings", printed)
    assert "plan: stale(at=1, back=1, seconds=1) # seed 3643427490" in printed
    assert "configmaps default/a-<3> exists, unexpectedly" in printed


def test_the_corrected_controller_of_the_tutorial_has_no_findings() -> None:
    names: dict[str, object] = {}

    exec(PROGRAM, names)
    exec(SCENARIO.partition("report =")[0], names)
    exec(FIXED, names)
    exec(TEST, names)

    assert names["test_a_growing_fleet"]


def test_the_function_of_the_tutorial_says_which_differences_do_not_matter() -> None:
    names: dict[str, Any] = {}
    for block in (PROGRAM, SCENARIO.partition("report =")[0], FIXED, NORMALIZED):
        exec(block, names)

    copy = {"metadata": {"name": "a-7", "finalizers": ["b", "a"], "labels": {"copy-of": "a"}}}
    (left,) = names["comparable"]([copy, {"metadata": {"name": "cache"}}])

    assert left["metadata"] == {**copy["metadata"], "finalizers": ["a", "b"], "generateName": "a-"}
    perturb(names["growing_in_any_order"], plans=3, seed=1).raise_for_findings()


def test_the_scenario_with_a_command_starts_it() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAM, names)
    exec(SCENARIO.partition("report =")[0], names)
    exec(COMMAND, names)

    with pytest.raises(InvalidInput) as error:
        perturb(names["operated"], plans=1, real_time=True)

    assert "command './fleet-operator' is not found" in str(error.value.__cause__)


def test_each_family_is_explained() -> None:
    page = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")

    for family in FAMILIES:
        assert f"| `{family}` |" in page
