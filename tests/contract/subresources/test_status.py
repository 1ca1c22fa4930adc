"""The ``status`` subresource of built-in kinds: only its path writes the status, and some metadata with it."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import STRATEGIC, Cluster
from tests.contract.objects import conditions, owners, pod, workload

SERVICE = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}


async def test_only_the_status_path_writes_the_status_of_a_pod(cluster: Cluster) -> None:
    created = await cluster.create("pods", pod())

    through_object = await cluster.patch("pods", "p", {"status": {"phase": "Running"}})
    through_status = await cluster.patch(
        "pods/status", "p", {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}}
    )

    assert through_object["status"] == created["status"]
    assert (through_status["status"]["phase"], through_status["spec"]) == ("Running", created["spec"])
    assert await cluster.get("pods/status", "p") == await cluster.get("pods", "p") == through_status


async def test_the_status_path_of_a_deployment_writes_only_the_status(cluster: Cluster) -> None:
    created = await cluster.create("deployments", workload())

    changed = {**created, "spec": {**created["spec"], "replicas": 9}, "status": {"replicas": 3, "readyReplicas": 2}}
    written = await cluster.update("deployments/status", changed)

    assert (written["spec"], written["status"]) == (created["spec"], {"replicas": 3, "readyReplicas": 2})
    assert written["metadata"]["generation"] == 1


async def test_the_status_of_a_new_object_is_dropped(cluster: Cluster) -> None:
    made_pod = await cluster.create("pods", {**pod(), "status": {"phase": "Running", "podIP": "10.0.0.1"}})
    deployment = await cluster.create("deployments", {**workload(), "status": {"replicas": 3}})

    assert (made_pod["status"], deployment["status"]) == ({"phase": "Pending", "qosClass": "BestEffort"}, {})


@pytest.mark.parametrize("resource", ["pods", "deployments"])
async def test_most_metadata_is_written_with_the_status(cluster: Cluster, resource: str) -> None:
    body = pod() if resource == "pods" else workload("p")
    await cluster.create(resource, body)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}
    metadata = {"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["a.b/c"], "ownerReferences": [owner]}

    written = (await cluster.patch(f"{resource}/status", "p", {"metadata": metadata}))["metadata"]

    assert (written["annotations"], written["finalizers"]) == ({"a": "b"}, ["a.b/c"])
    assert ("labels" in written) == (resource == "pods")
    assert ("ownerReferences" in written) == (resource == "deployments")


async def test_missing_times_of_a_condition_are_null(cluster: Cluster) -> None:
    await cluster.create("pods", pod())
    await cluster.create("deployments", workload())
    condition = {"type": "Fine", "status": "True"}

    made_pod = await cluster.patch("pods/status", "p", {"status": {"conditions": [condition]}})
    deployment = await cluster.patch("deployments/status", "d", {"status": {"conditions": [condition]}})

    assert made_pod["status"]["conditions"] == [{**condition, "lastProbeTime": None, "lastTransitionTime": None}]
    assert deployment["status"]["conditions"] == [{**condition, "lastUpdateTime": None, "lastTransitionTime": None}]


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_conditions_of_the_common_type_have_all_fields_and_own_them(cluster: Cluster) -> None:
    await cluster.create("services", {**SERVICE, "metadata": {"name": "s"}})

    patch = {"status": {"conditions": [{"type": "A"}]}}
    written = await cluster.patch("services/status", "s", patch, params={"fieldManager": "m"})

    zeros = {"status": "", "lastTransitionTime": None, "reason": "", "message": ""}
    assert written["status"]["conditions"] == [{"type": "A", **zeros}]
    owned = owners(written)["m:Update:status"]["f:status"]["f:conditions"]
    assert owned['k:{"type":"A"}'] == {".": {}, "f:type": {}, **{f"f:{name}": {} for name in zeros}}


async def test_conditions_are_merged_by_type(cluster: Cluster) -> None:
    await cluster.create("pods", pod())
    for kind, status in (("Ready", "False"), ("Fine", "True"), ("Ready", "True")):
        patch = {"status": {"conditions": [{"type": kind, "status": status}]}}
        await cluster.patch("pods/status", "p", patch, STRATEGIC)

    assert conditions(await cluster.get("pods", "p")) == {"Ready": ("True", ""), "Fine": ("True", "")}


async def test_negative_replicas_in_a_status_are_invalid(cluster: Cluster) -> None:
    await cluster.create("deployments", workload())

    with pytest.raises(Invalid) as caught:
        await cluster.patch("deployments/status", "d", {"status": {"replicas": -4}})

    assert (caught.value.causes[0].field, caught.value.causes[0].message) == (
        "status.replicas",
        "Invalid value: -4: must be greater than or equal to 0",
    )


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_writers_of_the_status_own_their_fields(cluster: Cluster) -> None:
    await cluster.create("deployments", workload(), params={"fieldManager": "maker"})

    applied = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    await cluster.apply("deployments/status", {**applied, "status": {"readyReplicas": 0, "replicas": 2}}, "reporter")
    written = await cluster.patch(
        "deployments/status", "d", {"status": {"updatedReplicas": 1}}, params={"fieldManager": "m"}
    )

    found = owners(written)
    assert found["reporter:status"] == {"f:status": {"f:readyReplicas": {}, "f:replicas": {}}}
    assert found["m:Update:status"] == {"f:status": {"f:updatedReplicas": {}}}
