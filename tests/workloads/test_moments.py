"""The phase of workloads that are known by their shape only, in recorded moments of their rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynkube import Unstructured
from dynkube.workloads._rollout_status import rollout_status
from tests.recorded_cases import load_cases

WORKLOADS = load_cases(Path(__file__).parent / "moments.yaml")
MOMENTS = [
    pytest.param(workload, moment, id=f"{workload['kind']}: {moment['moment']}")
    for workload in WORKLOADS
    for moment in workload["moments"]
]


@pytest.mark.parametrize(("workload", "moment"), MOMENTS)
def test_a_moment_of_a_rollout_has_its_phase(workload: dict[str, Any], moment: dict[str, Any]) -> None:
    metadata = {"name": "web", "generation": moment["generation"], **moment.get("metadata", {})}
    obj = {"apiVersion": workload["api"], "kind": workload["kind"], "metadata": metadata}

    found = rollout_status(Unstructured({**obj, "spec": moment["spec"], "status": moment["status"]}))

    assert found.phase == moment["phase"], found.message
    assert set(moment.get("reasons", ())) <= set(found.reasons)
