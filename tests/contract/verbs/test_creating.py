"""Create: what the server sets, what it generates, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import AlreadyExists, APIError, BadRequest, Invalid, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, workload


async def test_a_created_object_gets_its_identity_from_the_server(cluster: Cluster) -> None:
    wanted = config(uid="mine", creationTimestamp="1999-01-01T00:00:00Z", selfLink="/there")
    created = await cluster.create("configmaps", wanted)

    metadata = created["metadata"]
    assert set(metadata) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"}
    assert (metadata["name"], metadata["namespace"]) == ("a", cluster.namespace)
    assert len(metadata["uid"]) == 36
    assert not metadata["creationTimestamp"].startswith("1999")
    assert await cluster.get("configmaps", "a") == created


async def test_each_write_takes_a_higher_resource_version_whatever_it_writes(cluster: Cluster) -> None:
    first = await cluster.create("configmaps", config())
    second = await cluster.create("serviceaccounts", {"metadata": {"name": "shop"}})

    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


async def test_a_taken_name_is_refused(cluster: Cluster) -> None:
    await cluster.create("deployments", workload())

    with pytest.raises(AlreadyExists) as caught:
        await cluster.create("deployments", workload())

    status = caught.value.status
    assert status.message == 'deployments.apps "d" already exists'
    assert (status.code, status.kind, status.name, status.group) == (409, "deployments", "d", "apps")


async def test_a_name_whose_object_is_on_its_way_out_is_taken_still(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=["example.com/wait"]))
    await cluster.delete("configmaps", "a")

    with pytest.raises(AlreadyExists, match='object is being deleted: configmaps "a" already exists'):
        await cluster.create("configmaps", config())


async def test_a_dry_run_answers_and_stores_nothing(cluster: Cluster) -> None:
    answer = await cluster.create("configmaps", config(), params={"dryRun": "All"})

    assert answer["metadata"]["uid"]
    assert "resourceVersion" not in answer["metadata"]
    with pytest.raises(NotFound):
        await cluster.get("configmaps", "a")


@pytest.mark.parametrize(("name", "code"), [("a", 409), ("b", 201)])
async def test_a_dry_run_is_refused_as_the_real_thing_would_be(cluster: Cluster, name: str, code: int) -> None:
    await cluster.create("configmaps", config())

    answer = await cluster.call("POST", cluster.path("configmaps"), body=config(name), params={"dryRun": "All"})

    assert answer.code == code


async def test_built_in_objects_may_leave_out_their_type_and_custom_ones_may_not(cluster: Cluster) -> None:
    await cluster.define()

    created = await cluster.create("configmaps", {"metadata": {"name": "a"}})
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")
    with pytest.raises(BadRequest, match="Object 'Kind' is missing"):
        await cluster.create("widgets", {"apiVersion": f"{cluster.group}/v1", "metadata": {"name": "w"}})


async def test_a_custom_object_is_of_the_version_and_kind_of_the_path(cluster: Cluster) -> None:
    await cluster.define()

    with pytest.raises(BadRequest, match=r"the API version in the data \(x/v1\) does not match the expected"):
        await cluster.create("widgets", {**cluster.widget(), "apiVersion": "x/v1"})
    with pytest.raises(Invalid) as caught:
        await cluster.create("widgets", {**cluster.widget(), "kind": "Gadget"})
    expected = f'Gadget.{cluster.group} "w" is invalid: kind: Invalid value: "Gadget": must be Widget'
    assert caught.value.status.message == expected


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ([], BadRequest, "cannot unmarshal array into Go value of type struct"),
        ({**config(), "apiVersion": "v2"}, BadRequest, 'no kind "ConfigMap" is registered for version "v2"'),
        ({"kind": "Foo"}, BadRequest, 'no kind "Foo" is registered for version "v1"'),
        ({"kind": "Secret"}, BadRequest, r"converting \(v1.Secret\) to \(core.ConfigMap\): unknown conversion"),
        (config(namespace="other"), BadRequest, "does not match the namespace"),
        (config(resourceVersion="5"), APIError, "resourceVersion should not be set on objects to be created"),
        ({"metadata": {}}, Invalid, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName'),
        ({}, Invalid, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName'),
    ],
)
async def test_a_body_that_is_no_such_object_is_refused(
    cluster: Cluster, body: Any, error: type[APIError], words: str
) -> None:
    with pytest.raises(error, match=words):
        await cluster.create("configmaps", body)


@pytest.mark.parametrize("version", ["0", "latest"])
async def test_a_resource_version_that_is_none_is_overlooked(cluster: Cluster, version: str) -> None:
    created = await cluster.create("configmaps", config(resourceVersion=version))

    assert created["metadata"]["resourceVersion"].isdecimal()


async def test_a_namespace_that_is_not_there_takes_nothing(cluster: Cluster) -> None:
    with pytest.raises(NotFound) as caught:
        await cluster.create("configmaps", config(), namespace=f"no-{cluster.namespace}")

    status = caught.value.status
    assert status.message == f'namespaces "no-{cluster.namespace}" not found'
    assert (status.kind, status.name) == ("namespaces", f"no-{cluster.namespace}")


async def test_the_status_of_a_new_object_is_dropped_where_it_has_a_subresource(cluster: Cluster) -> None:
    created: JSONObject = await cluster.create("deployments", {**workload(), "status": {"replicas": 7}})

    assert created["status"] == {}
