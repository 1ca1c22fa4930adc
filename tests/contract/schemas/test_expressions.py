"""CEL expressions and their results, as recorded from kube-apiserver 1.36 in ``recorded/expressions.yaml``.

The file has the schema of ``spec``, an object, the rules that hold and that do not, and those that cannot be evaluated,
with the error. To add a rule, see the output of the failing test.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dynkube.errors import Invalid
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, version
from tests.contract.schemas.kit import messages

pytestmark = pytest.mark.since("1.36", "functions were added in many releases")

RECORDED: JSONObject = yaml.safe_load((Path(__file__).parent / "recorded" / "expressions.yaml").read_text())
OBJECT = 'Invalid value: "object": '
TOO_EXPENSIVE = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call"


async def served(cluster: Cluster, spec: JSONObject, rules: list[str]) -> None:
    ruled = {**spec, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": ruled}}}
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema)]))
    await cluster.until_served("widgets")


async def causes(cluster: Cluster, spec: Any) -> list[str]:
    try:
        await cluster.create("widgets", cluster.widget(spec=spec))
    except Invalid as error:
        return messages(error)
    return []


def expected(rule: str) -> list[str]:
    if rule in RECORDED["hold"]:
        return []
    error = RECORDED["errors"].get(rule)
    return [f"spec: {OBJECT}{error}: {rule}" if error else f"spec: Invalid value: failed rule: {rule}"]


async def test_rules_have_the_recorded_results(cluster: Cluster) -> None:
    rules = [*RECORDED["hold"], *RECORDED["fail"], *RECORDED["errors"]]
    await served(cluster, RECORDED["schema"], rules)

    found = await causes(cluster, RECORDED["object"])

    assert found == [cause for rule in rules for cause in expected(rule)]


async def test_a_rule_that_costs_too_much_ends_the_validation(cluster: Cluster) -> None:
    numbers = {"type": "array", "maxItems": 900, "items": {"type": "integer"}}
    rule = "self.n.all(x, self.n.all(y, x + y >= 0))"
    await served(cluster, {"type": "object", "properties": {"n": numbers}}, [rule, "false"])

    found = await causes(cluster, {"n": [1] * 700})

    assert found == [f"spec: {OBJECT}{TOO_EXPENSIVE} cost exceeds limit for rule: {rule}"]
