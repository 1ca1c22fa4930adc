"""The status subresource: the owners of the status, and of other fields that requests to it write."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, owners, pod, service, workload
from tests.contract.owners.kit import applied, owned

pytestmark = pytest.mark.since("1.22", "entries did not have a subresource")

SELECTOR = {"matchLabels": {"app": "d"}}
TEMPLATE = workload()["spec"]["template"]
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}

# For each kind an object, a status, and the field of the status that is owned.
KINDS: dict[str, tuple[JSONObject, JSONObject, str]] = {
    "pods": (pod(), {"message": "x"}, "message"),
    "services": (
        service(type="LoadBalancer"),
        {"loadBalancer": {"ingress": [{"ip": "10.8.0.1"}]}},
        "loadBalancer.ingress",
    ),
    "replicationcontrollers": ({"spec": {"selector": {"app": "d"}, "template": TEMPLATE}}, {"replicas": 1}, "replicas"),
    "persistentvolumeclaims": (CLAIM, {"phase": "Bound"}, "phase"),
    "resourcequotas": ({"spec": {"hard": {"pods": "1"}}}, {"used": {"pods": "1"}}, "used.pods"),
    "deployments": (workload(), {"replicas": 1}, "replicas"),
    "daemonsets": ({"spec": {"selector": SELECTOR, "template": TEMPLATE}}, {"numberReady": 1}, "numberReady"),
    "replicasets": ({"spec": {"selector": SELECTOR, "template": TEMPLATE}}, {"replicas": 1}, "replicas"),
    "statefulsets": (
        {"spec": {"selector": SELECTOR, "serviceName": "s", "template": TEMPLATE}},
        {"replicas": 1},
        "replicas",
    ),
    "jobs": (
        {"spec": {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}},
        {"active": 1},
        "active",
    ),
    "horizontalpodautoscalers": (
        {"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 2}},
        {"desiredReplicas": 1, "currentReplicas": 1},
        "desiredReplicas",
    ),
}
NAMES = {
    "pods": ("v1", "Pod"),
    "services": ("v1", "Service"),
    "replicationcontrollers": ("v1", "ReplicationController"),
    "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "deployments": ("apps/v1", "Deployment"),
    "daemonsets": ("apps/v1", "DaemonSet"),
    "replicasets": ("apps/v1", "ReplicaSet"),
    "statefulsets": ("apps/v1", "StatefulSet"),
    "jobs": ("batch/v1", "Job"),
    "horizontalpodautoscalers": ("autoscaling/v1", "HorizontalPodAutoscaler"),
}


async def created(cluster: Cluster, plural: str) -> JSONObject:
    """Create an object by ``maker``, and return its body."""
    if plural == "pods":
        await cluster.create("serviceaccounts", {"metadata": {"name": "default"}})
    api_version, kind = NAMES[plural]
    body = {**KINDS[plural][0], "apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    await cluster.create(plural, body, params={"fieldManager": "maker"})
    return body


@pytest.mark.parametrize("plural", KINDS)
async def test_an_apply_to_the_status_owns_only_the_status(cluster: Cluster, plural: str) -> None:
    body, (_, status, field) = await created(cluster, plural), KINDS[plural]

    obj = await cluster.apply(f"{plural}/status", {**body, "status": status}, "me")

    assert field in owned(obj, "status")["me:status"]
    assert set(owners(obj)["me:status"]) == {"f:status"}
    assert "maker:Update" in owned(obj)


@pytest.mark.parametrize("plural", KINDS)
async def test_an_apply_to_the_object_does_not_own_the_status(cluster: Cluster, plural: str) -> None:
    body, (_, status, _) = await created(cluster, plural), KINDS[plural]

    obj = await cluster.apply(plural, {**body, "status": status}, "me")

    assert "f:status" not in owners(obj)["me"]


@pytest.mark.parametrize("plural", [plural for plural in KINDS if plural not in {"pods", "jobs"}])
async def test_only_an_apply_to_the_status_conflicts_with_its_owner(cluster: Cluster, plural: str) -> None:
    body, (_, status, _) = await created(cluster, plural), KINDS[plural]
    await cluster.patch(f"{plural}/status", "x", {"status": status}, params={"fieldManager": "controller"})
    other = {**body, "status": _other(status)}

    code, error = await applied(cluster, f"{plural}/status", other, "me")
    assert code == 409, error
    assert all('"controller" with subresource "status"' in cause["message"] for cause in error["details"]["causes"])

    code, _ = await applied(cluster, plural, other, "me")
    assert code == 200


def _other(value: object) -> object:
    match value:
        case dict():
            return {name: _other(child) for name, child in value.items()}
        case list():
            return [_other(item) for item in value]
        case int():
            return value + 1
    return {"x": "y", "Bound": "Lost", "10.8.0.1": "10.8.0.2", "1": "2"}[str(value)]


@pytest.mark.parametrize("plural", KINDS)
async def test_metadata_is_written_with_the_status_of_built_in_kinds(cluster: Cluster, plural: str) -> None:
    """For Deployments without labels; see https://github.com/kubernetes/kubernetes/issues/137681."""
    body, status = await created(cluster, plural), KINDS[plural][1]
    metadata = {"name": "x", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    expected = {"annotations"} if plural == "deployments" else {"annotations", "labels"}

    obj = await cluster.apply(f"{plural}/status", {**body, "metadata": metadata, "status": status}, "me")

    assert {field.partition(".")[0] for field in owned(obj, "metadata")["me:status"]} == expected
    assert obj["metadata"]["annotations"]["c"] == "d"
    assert ("a" in obj["metadata"].get("labels", {})) == ("labels" in expected)


async def test_metadata_is_not_written_with_the_status_of_custom_resources(widgets: Cluster) -> None:
    crd = widgets.crd("gizmos", "Gizmo")
    crd["spec"]["versions"][0]["subresources"] = {"status": {}}
    await widgets.create_crd(crd)
    gizmo = {"apiVersion": f"{widgets.group}/v1", "kind": "Gizmo", "metadata": {"name": "x"}, "spec": {"a": 1}}
    await widgets.apply("gizmos", gizmo, "maker")
    more = {**gizmo, "metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"a": 2}, "status": {"ready": True}}

    obj = await widgets.apply("gizmos/status", more, "me")

    assert ("labels" in obj["metadata"], obj["spec"], obj["status"]) == (False, {"a": 1}, {"ready": True})
    assert owners(obj) == {
        "maker": {"f:spec": {".": {}, "f:a": {}}},
        "me:status": {"f:status": {".": {}, "f:ready": {}}},
    }


async def test_managed_fields_cannot_be_set_through_the_status(cluster: Cluster) -> None:
    await created(cluster, "deployments")
    entry = {"manager": "x", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
    fields: JSONObject = {"f:metadata": {"f:labels": {"f:a": {}}}}
    patch = {"metadata": {"managedFields": [{**entry, "fieldsV1": fields}]}}

    obj = await cluster.patch("deployments/status", "x", patch, params={"fieldManager": "me"})

    assert set(owners(obj)) == {"maker:Update"}


async def test_the_first_apply_to_a_status_without_owners_adds_before_first_apply(cluster: Cluster) -> None:
    body = await created(cluster, "deployments")
    await cluster.patch("deployments/status", "x", {"status": {"replicas": 1}})
    await cluster.patch("deployments", "x", {"metadata": {"managedFields": []}})

    obj = await cluster.apply("deployments/status", {**body, "status": {"readyReplicas": 1}}, "me")

    assert owners(obj)["before-first-apply:Update:status"] == {"f:status": {"f:replicas": {}}}
    assert owned(obj, "status")["me:status"] == {"readyReplicas"}
