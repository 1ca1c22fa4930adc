"""The ``scale`` subresource of built-in kinds."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, Invalid, NotFound
from tests.contract.cluster import JSON, MERGE, STRATEGIC, Cluster
from tests.contract.objects import JSONObject, owners, pod, workload

KINDS = {
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "replicationcontrollers": "ReplicationController",
}
REPLICAS: JSONObject = {"f:spec": {"f:replicas": {}}}


def _scalable(resource: str, **spec: Any) -> JSONObject:
    """Return an object of the resource with three replicas."""
    made = {**workload(replicas=3, **spec), "kind": KINDS[resource]}
    if resource == "statefulsets":
        made["spec"]["serviceName"] = "s"
    if resource == "replicationcontrollers":
        made["apiVersion"], made["spec"]["selector"] = "v1", {"app": "d"}
    return made


def _scale(cluster: Cluster, **fields: Any) -> JSONObject:
    metadata = {"name": "d", "namespace": cluster.namespace}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, **fields}


@pytest.fixture
async def scale(cluster: Cluster) -> JSONObject:
    """The scale of a Deployment ``d`` with three replicas."""
    await cluster.create("deployments", _scalable("deployments"))
    return await cluster.get("deployments/scale", "d")


@pytest.mark.parametrize("resource", KINDS)
async def test_a_scale_shows_metadata_replicas_and_selector_of_its_object(cluster: Cluster, resource: str) -> None:
    metadata = (await cluster.create(resource, _scalable(resource)))["metadata"]

    scale = await cluster.get(f"{resource}/scale", "d")

    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert scale == _scale(
        cluster,
        metadata={field: metadata[field] for field in fields},
        spec={"replicas": 3},
        status={"replicas": 0, "selector": "app=d"},
    )


@pytest.mark.parametrize("resource", KINDS)
async def test_an_update_of_a_scale_writes_only_the_replicas(cluster: Cluster, resource: str) -> None:
    created = await cluster.create(resource, _scalable(resource))
    scale = await cluster.get(f"{resource}/scale", "d")

    response = await cluster.update(
        f"{resource}/scale", {**scale, "spec": {"replicas": 7}, "status": {"replicas": 9, "selector": "x=y"}}
    )

    assert (response["spec"], response["status"]) == ({"replicas": 7}, {"replicas": 0, "selector": "app=d"})
    written = await cluster.get(resource, "d")
    assert (written["spec"], written["status"]) == ({**created["spec"], "replicas": 7}, created["status"])
    assert written["metadata"]["generation"] == 2
    assert written["metadata"]["resourceVersion"] == response["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        (MERGE, {"spec": {"replicas": 5}}),
        (STRATEGIC, {"spec": {"replicas": 5}}),
        (
            JSON,
            [
                {"op": "test", "path": "/spec/replicas", "value": 3},
                {"op": "replace", "path": "/spec/replicas", "value": 5},
            ],
        ),
        (MERGE, {"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 5}, "status": {"replicas": 2}}),
    ],
)
async def test_all_types_of_patches_can_change_a_scale(
    cluster: Cluster, scale: JSONObject, content_type: str, patch: object
) -> None:
    response = await cluster.patch("deployments/scale", "d", patch, content_type)

    assert (response["spec"], response["status"]["replicas"]) == ({"replicas": 5}, 0)
    written = await cluster.get("deployments", "d")
    assert (written["spec"]["replicas"], "labels" in written["metadata"]) == (5, False)


async def test_a_scale_without_replicas_sets_them_to_zero(cluster: Cluster, scale: JSONObject) -> None:
    response = await cluster.update("deployments/scale", _scale(cluster))

    assert response["spec"] == {}
    assert (await cluster.get("deployments", "d"))["spec"]["replicas"] == 0


async def test_a_scale_without_changes_writes_nothing(cluster: Cluster, scale: JSONObject) -> None:
    scaled = await cluster.patch("deployments/scale", "d", {"spec": {"replicas": 4}})
    again = await cluster.patch("deployments/scale", "d", {"spec": {"replicas": 4}})

    assert scaled["metadata"]["resourceVersion"] != scale["metadata"]["resourceVersion"]
    assert again == scaled


async def test_a_dry_run_returns_the_new_scale_and_writes_nothing(cluster: Cluster, scale: JSONObject) -> None:
    shown = await cluster.patch("deployments/scale", "d", {"spec": {"replicas": 5}}, params={"dryRun": "All"})

    assert shown["spec"] == {"replicas": 5}
    assert await cluster.get("deployments/scale", "d") == scale


async def test_a_scale_with_an_old_resource_version_is_a_conflict(cluster: Cluster, scale: JSONObject) -> None:
    await cluster.patch("deployments", "d", {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(Conflict, match=r'on deployments\.apps "d": the object has been modified'):
        await cluster.update("deployments/scale", {**scale, "spec": {"replicas": 5}})
    version = {"resourceVersion": scale["metadata"]["resourceVersion"]}
    with pytest.raises(Conflict, match=r'on deployments\.apps "d": the object has been modified'):
        await cluster.patch("deployments/scale", "d", {"metadata": version, "spec": {"replicas": 5}})


async def test_a_scale_without_a_resource_version_has_no_precondition(cluster: Cluster, scale: JSONObject) -> None:
    await cluster.patch("deployments", "d", {"metadata": {"labels": {"a": "b"}}})

    response = await cluster.update("deployments/scale", _scale(cluster, spec={"replicas": 5}))

    assert response["spec"] == {"replicas": 5}


@pytest.mark.parametrize("resource", KINDS)
async def test_negative_replicas_are_invalid(cluster: Cluster, resource: str) -> None:
    await cluster.create(resource, _scalable(resource))

    with pytest.raises(Invalid) as caught:
        await cluster.patch(f"{resource}/scale", "d", {"spec": {"replicas": -4}})

    why = "Invalid value: -4: must be greater than or equal to 0"
    assert caught.value.status.message == f'Scale.autoscaling "d" is invalid: spec.replicas: {why}'
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [("spec.replicas", why)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"metadata": {"name": "e"}}, r"the name of the object \(e\) does not match the name on the URL \(d\)"),
        (
            {"metadata": {"name": "d", "namespace": "other"}},
            "the namespace of the .*object .*does not match the namesp",
        ),
        ({"spec": {"replicas": "5"}}, 'Scale in version "v1" cannot be handled as a Scale'),
        (
            {"kind": "Deployment", "apiVersion": "apps/v1"},
            'Deployment in version "v1" cannot be handled as a Scale: converting',
        ),
    ],
)
async def test_a_body_that_is_not_a_scale_of_the_object_is_a_400(
    cluster: Cluster, scale: JSONObject, fields: JSONObject, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        await cluster.request("PUT", cluster.path("deployments/scale", "d"), body={**scale, **fields})


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH"])
async def test_the_scale_of_a_missing_object_is_a_404(cluster: Cluster, method: str) -> None:
    body = (
        None if method == "GET" else {**_scale(cluster), "metadata": {"name": "none", "namespace": cluster.namespace}}
    )
    path, content_type = cluster.path("deployments/scale", "none"), MERGE if method == "PATCH" else "application/json"

    with pytest.raises(NotFound, match=r'deployments.* "none" not found'):
        await cluster.request(method, path, body=body, content_type=content_type)


async def test_daemon_sets_have_no_scale(cluster: Cluster) -> None:
    await cluster.create("daemonsets", {**workload(), "kind": "DaemonSet"})

    assert (await cluster.call("GET", cluster.path("daemonsets/scale", "d"))).code == 404


async def test_the_selector_in_the_status_is_a_string(cluster: Cluster) -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["b", "a"]},
        {"key": "x", "operator": "Exists"},
        {"key": "y", "operator": "DoesNotExist"},
        {"key": "z", "operator": "NotIn", "values": ["c"]},
    ]
    deployment = workload(selector={"matchLabels": {"app": "d"}, "matchExpressions": expressions})
    deployment["spec"]["template"]["metadata"]["labels"] = {"app": "d", "tier": "a", "x": ""}
    await cluster.create("deployments", deployment)

    shown = await cluster.get("deployments/scale", "d")

    assert shown["status"] == {"replicas": 0, "selector": "app=d,tier in (a,b),x,!y,z notin (c)"}


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_scaling_owns_the_replicas(cluster: Cluster) -> None:
    await cluster.create("deployments", _scalable("deployments"), params={"fieldManager": "maker"})
    assert owners(await cluster.get("deployments", "d"))["maker:Update"]["f:spec"]["f:replicas"] == {}

    await cluster.patch("deployments/scale", "d", {"spec": {"replicas": 4}}, params={"fieldManager": "scaler"})

    found = owners(await cluster.get("deployments", "d"))
    assert found["scaler:Update:scale"] == REPLICAS
    assert "f:replicas" not in found["maker:Update"]["f:spec"]


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_applying_replicas_that_were_scaled_is_a_conflict(cluster: Cluster) -> None:
    await cluster.apply("deployments", _scalable("deployments"), "owner")
    await cluster.patch("deployments/scale", "d", {"spec": {"replicas": 4}}, params={"fieldManager": "scaler"})

    with pytest.raises(Conflict) as caught:
        await cluster.apply("deployments", _scalable("deployments"), "owner")
    without = _scalable("deployments")
    del without["spec"]["replicas"]
    applied = await cluster.apply("deployments", without, "owner")

    message = 'conflict with "scaler" with subresource "scale" using apps/v1'
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [(".spec.replicas", message)]
    assert applied["spec"]["replicas"] == 4


async def test_a_pod_has_no_scale(cluster: Cluster) -> None:
    await cluster.create("pods", pod())

    assert (await cluster.call("GET", cluster.path("pods/scale", "p"))).code == 404
