"""Warnings for names that are used as host names and are not DNS labels."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, pod, workload

DOTS, LONG = "must not contain dots", "must be no more than 63 characters"


def _named(resource: str, name: str) -> JSONObject:
    """Return an object of the resource."""
    if resource == "pods":
        return pod(name)
    made = workload(name)
    made["spec"]["selector"] = {"matchLabels": {"app": "d"}}
    made["spec"]["template"]["metadata"]["labels"] = {"app": "d"}
    return {"metadata": made["metadata"], "spec": made["spec"]}


@pytest.mark.since("1.27", "there were no warnings about names")
@pytest.mark.parametrize(
    ("resource", "place"),
    [
        ("pods", "the Pod's hostname"),
        ("deployments", "Pod names and hostnames"),
        ("replicasets", "Pod names and hostnames"),
        ("daemonsets", ""),
    ],
)
@pytest.mark.parametrize(
    ("name", "problems"), [("a", ""), ("a.b", DOTS), ("a" * 64, LONG), ("a." + "b" * 64, f"{LONG} {DOTS}")]
)
async def test_a_name_that_is_not_a_dns_label_causes_a_warning(
    cluster: Cluster, resource: str, place: str, name: str, problems: str
) -> None:
    response = await cluster.call("POST", cluster.path(resource), body=_named(resource, name))

    advice = "which can result in surprising behavior; a DNS label is recommended"
    expected = [f"metadata.name: this is used in {place}, {advice}: [{problems}]"] if place and problems else []
    assert (response.code, list(response.warnings)) == (201, expected)


@pytest.mark.since("1.27", "there were no warnings about names")
async def test_a_name_of_a_job_that_is_not_a_dns_label_causes_a_warning(cluster: Cluster) -> None:
    job = {"metadata": {"name": "a.b"}, "spec": {"template": {"spec": pod(restartPolicy="Never")["spec"]}}}

    response = await cluster.call("POST", cluster.path("jobs"), body=job)

    assert [warning.endswith(f"[{DOTS}]") for warning in response.warnings] == [True]


async def test_an_update_causes_no_warning_about_the_name(cluster: Cluster) -> None:
    await cluster.create("pods", pod("a.b"))

    response = await cluster.call("PUT", cluster.path("pods", "a.b"), body=await cluster.get("pods", "a.b"))

    assert not response.warnings
