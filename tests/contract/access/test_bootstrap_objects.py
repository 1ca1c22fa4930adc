"""The objects that an API server creates at its start."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube_testing._kinds.bootstrap import bootstrap_objects
from tests.contract.cluster import Cluster

_PLURALS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "PriorityClass": "priorityclasses",
}


def _comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Return what is the same in each cluster; rules of aggregated roles come from a controller."""
    metadata = {name: obj["metadata"].get(name) for name in ("name", "namespace", "labels", "annotations")}
    content = {name: value for name, value in obj.items() if name not in {"metadata", "apiVersion", "kind"}}
    if "aggregationRule" in obj:
        del content["rules"]
    return {"metadata": metadata, **content}


@pytest.mark.since("1.36", "the objects are those of 1.36")
@pytest.mark.parametrize("group", ["rbac.authorization.k8s.io", "scheduling.k8s.io"])
async def test_the_objects_are_those_of_a_new_cluster(cluster: Cluster, group: str) -> None:
    wanted = [each.content for each in bootstrap_objects(group)]

    for kind in dict.fromkeys(each["kind"] for each in wanted):
        listed = (await cluster.request("GET", f"/apis/{group}/v1/{_PLURALS[kind]}"))["items"]
        found = {(each["metadata"].get("namespace"), each["metadata"]["name"]): _comparable(each) for each in listed}
        for each in wanted:
            if each["kind"] == kind:
                key = each["metadata"].get("namespace"), each["metadata"]["name"]
                assert found[key] == _comparable(each)


@pytest.mark.since("1.36", "the objects are those of 1.36")
async def test_kube_apiserver_manages_their_fields(cluster: Cluster) -> None:
    role = await cluster.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node")
    priority = await cluster.request("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")

    managed = [obj["metadata"]["managedFields"] for obj in (role, priority)]
    assert [[(each["manager"], each["operation"]) for each in entries] for entries in managed] == [
        [("kube-apiserver", "Update")]
    ] * 2
    assert managed[1][0]["fieldsV1"] == {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}}
    assert priority["metadata"]["generation"] == 1
