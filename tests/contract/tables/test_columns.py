"""The columns of tables: the recorded ones of built-in kinds, and those of CRDs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.cluster import TABLE, Cluster
from tests.contract.objects import structural, version
from tests.contract.resources import Resource
from tests.recorded_cases import load_cases

RECORDED = Path(__file__).parents[2] / "testing" / "tables" / "recorded" / "builtin.yaml"


def recorded() -> dict[tuple[str, str], list[str]]:
    """Return the recorded columns of each resource, as ``name|type|format|priority``."""
    return {(case["apiVersion"], case["resource"]): case["columns"] for case in load_cases(RECORDED)}


async def columns(cluster: Cluster, group_version: str, plural: str) -> list[str]:
    resource = Resource(group_version=group_version, plural=plural, namespaced=False)
    # In all namespaces; no object has this name, so there are no rows.
    no_match = {"fieldSelector": "metadata.name=no--one"}
    found = await cluster.request("GET", resource.path(""), params=no_match, headers={"Accept": TABLE})
    return [f"{each['name']}|{each['type']}|{each['format']}|{each['priority']}" for each in found["columnDefinitions"]]


@pytest.mark.since("1.36", "the columns of 1.36 are recorded")
async def test_the_columns_of_built_in_kinds_are_the_recorded_ones(cluster: Cluster) -> None:
    on_record = recorded()

    assert {kind: await columns(cluster, *kind) for kind in on_record} == on_record
    assert len(on_record) > 50


@pytest.mark.parametrize("plural", ["configmaps", "secrets", "pods", "services", "deployments", "jobs", "roles"])
async def test_columns_of_priority_zero_are_the_same_in_all_versions(cluster: Cluster, plural: str) -> None:
    group_version = cluster.resources[plural].group_version

    def shown(rows: list[str]) -> list[str]:
        return [each.partition("|")[0] for each in rows if each.endswith("|0")]

    expected = shown(recorded()[group_version, plural])
    if plural == "jobs" and cluster.version < (1, 31):
        expected.remove("Status")
    assert shown(await columns(cluster, group_version, plural)) == expected


async def test_custom_resources_have_the_columns_of_their_crd(cluster: Cluster) -> None:
    printed = [
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "description": "Which it has."},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    schema = structural(color={"type": "string"}, size={"type": "integer"})
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema, additionalPrinterColumns=printed)]))
    await cluster.create("widgets", cluster.widget("a", spec={"color": "red", "size": 3}))
    await cluster.create("widgets", cluster.widget("b"))

    found = await cluster.request("GET", cluster.path("widgets"), headers={"Accept": TABLE})

    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Color", "Size", "Born"]
    assert [column["priority"] for column in found["columnDefinitions"]] == [0, 0, 1, 0]
    assert found["columnDefinitions"][1]["description"] == "Which it has."
    assert [row["cells"][:3] for row in found["rows"]] == [["a", "red", 3], ["b", None, None]]


async def test_custom_resources_without_columns_have_a_name_and_an_age(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())

    found = await cluster.request("GET", cluster.path("widgets"), headers={"Accept": TABLE})

    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Age"]
    assert found["rows"][0]["cells"][0] == "w"
