"""Manifests as people and tools write them: dynkube's outcomes, and where and why they are not those of kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynkube_testing import APIServer
from tests.manifests.as_written import CASES, differ, outcome_of_dynkube, recorded

DOCS = Path(__file__).parents[2] / "docs/apply.md"
RECORDED = recorded()


@pytest.mark.parametrize("name", CASES)
async def test_a_manifest_as_people_write_it_has_the_recorded_outcome(
    server: APIServer, tmp_path: Path, name: str
) -> None:
    assert await outcome_of_dynkube(server, tmp_path, name) == RECORDED[name]["dynkube"]


def test_each_outcome_that_is_not_that_of_kubectl_is_documented_with_its_reason() -> None:
    reasons = {name: case.get("why") for name, case in RECORDED.items() if differ(case)}

    documented = DOCS.read_text(encoding="utf-8")
    assert [name for name, why in reasons.items() if f"| {name} | {why} |" not in documented] == []
    assert list(RECORDED) == list(CASES)
