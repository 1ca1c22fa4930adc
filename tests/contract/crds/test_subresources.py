"""The subresources ``status`` and ``scale`` of custom resources: which fields they write, and the generation."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, InternalError, Invalid, MethodNotAllowed, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, version

SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def _version(**subresources: Any) -> JSONObject:
    replicas = {"replicas": {"type": "integer"}}
    spec = {"type": "object", "properties": {**replicas, "color": {"type": "string"}}}
    status = {"type": "object", "properties": {**replicas, "selector": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return version(schema={"openAPIV3Schema": schema}, subresources=subresources)


async def _scaled(cluster: Cluster, **spec: Any) -> JSONObject:
    await cluster.create_crd(cluster.crd(versions=[_version(status={}, scale=SCALE)]))
    return await cluster.create("widgets", cluster.widget(spec=spec))


async def test_only_the_status_path_writes_the_status(cluster: Cluster) -> None:
    await _scaled(cluster, replicas=1)

    through_object = await cluster.patch("widgets", "w", {"status": {"replicas": 9}})
    through_status = await cluster.patch("widgets/status", "w", {"status": {"replicas": 1}, "spec": {"replicas": 9}})

    assert "status" not in through_object
    assert (through_status["spec"], through_status["status"]) == ({"replicas": 1}, {"replicas": 1})
    assert await cluster.get("widgets/status", "w") == await cluster.get("widgets", "w")


async def test_the_status_path_does_not_write_metadata(cluster: Cluster) -> None:
    await _scaled(cluster)

    patch = {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/hold"]}, "status": {"replicas": 1}}
    written = await cluster.patch("widgets/status", "w", patch)

    assert not {"labels", "finalizers"} & written["metadata"].keys()


async def test_changes_of_metadata_and_status_do_not_increase_the_generation(cluster: Cluster) -> None:
    await _scaled(cluster, replicas=1)

    labelled = await cluster.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}})
    observed = await cluster.patch("widgets/status", "w", {"status": {"replicas": 1}})
    edited = await cluster.patch("widgets", "w", {"spec": {"color": "red"}})
    again = await cluster.patch("widgets", "w", {"spec": {"color": "red"}})

    assert [body["metadata"]["generation"] for body in (labelled, observed, edited, again)] == [1, 1, 2, 2]


async def test_without_the_subresource_status_is_a_normal_field_and_has_no_path(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[_version()]))
    await cluster.create("widgets", cluster.widget(status={"replicas": 1}))

    changed = await cluster.patch("widgets", "w", {"status": {"replicas": 2}})
    response = await cluster.call("GET", cluster.path("widgets/status", "w"))

    assert (changed["status"], changed["metadata"]["generation"]) == ({"replicas": 2}, 2)
    assert response.code == 404


async def test_the_scale_shows_the_values_at_its_paths(cluster: Cluster) -> None:
    created = await _scaled(cluster, replicas=3)
    written = await cluster.patch("widgets/status", "w", {"status": {"replicas": 2, "selector": "a=b"}})

    scale = await cluster.get("widgets/scale", "w")

    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}
    assert scale["metadata"] == {
        "name": "w",
        "namespace": cluster.namespace,
        "uid": created["metadata"]["uid"],
        "resourceVersion": written["metadata"]["resourceVersion"],
        "creationTimestamp": created["metadata"]["creationTimestamp"],
    }


async def test_the_scale_writes_only_the_replicas(cluster: Cluster) -> None:
    await _scaled(cluster, replicas=3, color="red")
    scale = await cluster.get("widgets/scale", "w")

    response = await cluster.update("widgets/scale", {**scale, "spec": {"replicas": 5}, "status": {"replicas": 7}})
    patched = await cluster.patch("widgets/scale", "w", {"spec": {"replicas": 6}})

    assert (response["spec"], response["status"]) == ({"replicas": 5}, {"replicas": 0})
    assert patched["spec"] == {"replicas": 6}
    found = await cluster.get("widgets", "w")
    assert (found["spec"], found["metadata"]["generation"]) == ({"replicas": 6, "color": "red"}, 3)


async def test_an_update_with_an_old_scale_is_a_conflict(cluster: Cluster) -> None:
    await _scaled(cluster, replicas=3)
    scale = await cluster.get("widgets/scale", "w")
    await cluster.patch("widgets", "w", {"spec": {"color": "red"}})

    with pytest.raises(Conflict, match="the object has been modified"):
        await cluster.update("widgets/scale", {**scale, "spec": {"replicas": 5}})


async def test_negative_replicas_are_invalid(cluster: Cluster) -> None:
    await _scaled(cluster, replicas=3)

    with pytest.raises(Invalid) as caught:
        await cluster.patch("widgets/scale", "w", {"spec": {"replicas": -3}})

    if cluster.version >= (1, 25):
        assert [(cause.field, cause.message) for cause in caught.value.causes] == [
            (".spec.replicas", "Invalid value: -3: should be a non-negative integer")
        ]


async def test_an_object_without_replicas_has_no_scale(cluster: Cluster) -> None:
    await _scaled(cluster)

    with pytest.raises(InternalError, match=r'the spec replicas field ".spec.replicas" does not exist'):
        await cluster.get("widgets/scale", "w")
    with pytest.raises(BadRequest, match=r'the spec replicas field ".spec.replicas" cannot be empty'):
        await cluster.patch("widgets/scale", "w", {})
    patched = await cluster.patch("widgets/scale", "w", {"spec": {"replicas": 3}})

    assert patched["spec"] == {"replicas": 3}


@pytest.mark.parametrize(
    ("method", "resource", "error"),
    [
        ("DELETE", "widgets/scale", MethodNotAllowed),
        ("POST", "widgets/status", MethodNotAllowed),
        ("DELETE", "widgets/status", MethodNotAllowed),
        ("GET", "widgets/nothing", NotFound),
    ],
)
async def test_subresources_support_only_get_patch_and_update(
    cluster: Cluster, method: str, resource: str, error: type[Exception]
) -> None:
    await _scaled(cluster)

    with pytest.raises(error):
        await cluster.request(method, cluster.path(resource, "w"), body={} if method == "POST" else None)


async def test_each_version_has_its_own_subresources(cluster: Cluster) -> None:
    versions = [_version(status={}), {**_version(), "name": "v2", "storage": False}]
    await cluster.create_crd(cluster.crd(versions=versions))
    await cluster.create("widgets.v1", cluster.widget(status={"replicas": 1}))

    await cluster.patch("widgets.v2", "w", {"status": {"replicas": 2}})

    assert (await cluster.get("widgets.v1", "w"))["status"] == {"replicas": 2}
    assert (await cluster.call("GET", cluster.path("widgets.v2/status", "w"))).code == 404
