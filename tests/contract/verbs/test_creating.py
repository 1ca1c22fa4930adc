"""Create: fields that the server sets, dry runs, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import AlreadyExists, APIError, BadRequest, Invalid, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, workload


async def test_the_server_sets_uid_version_and_creation_timestamp(cluster: Cluster) -> None:
    wanted = config(uid="mine", creationTimestamp="1999-01-01T00:00:00Z", selfLink="/there")
    created = await cluster.create("configmaps", wanted)

    metadata = created["metadata"]
    assert set(metadata) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"}
    assert (metadata["name"], metadata["namespace"]) == ("a", cluster.namespace)
    assert len(metadata["uid"]) == 36
    assert not metadata["creationTimestamp"].startswith("1999")
    assert await cluster.get("configmaps", "a") == created


async def test_resource_versions_increase_across_resources(cluster: Cluster) -> None:
    first = await cluster.create("configmaps", config())
    second = await cluster.create("serviceaccounts", {"metadata": {"name": "shop"}})

    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


async def test_creating_an_existing_object_is_a_409(cluster: Cluster) -> None:
    await cluster.create("deployments", workload())

    with pytest.raises(AlreadyExists) as caught:
        await cluster.create("deployments", workload())

    status = caught.value.status
    assert status.message == 'deployments.apps "d" already exists'
    assert (status.code, status.kind, status.name, status.group) == (409, "deployments", "d", "apps")


async def test_creating_an_object_that_is_being_deleted_is_a_409(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=["example.com/wait"]))
    await cluster.delete("configmaps", "a")

    with pytest.raises(AlreadyExists, match='object is being deleted: configmaps "a" already exists'):
        await cluster.create("configmaps", config())


async def test_a_dry_run_stores_nothing(cluster: Cluster) -> None:
    response = await cluster.create("configmaps", config(), params={"dryRun": "All"})

    assert response["metadata"]["uid"]
    assert "resourceVersion" not in response["metadata"]
    with pytest.raises(NotFound):
        await cluster.get("configmaps", "a")


@pytest.mark.parametrize(("name", "code"), [("a", 409), ("b", 201)])
async def test_a_dry_run_has_the_same_errors(cluster: Cluster, name: str, code: int) -> None:
    await cluster.create("configmaps", config())

    response = await cluster.call("POST", cluster.path("configmaps"), body=config(name), params={"dryRun": "All"})

    assert response.code == code


async def test_only_built_in_objects_can_omit_kind_and_api_version(cluster: Cluster) -> None:
    await cluster.create_crd()

    created = await cluster.create("configmaps", {"metadata": {"name": "a"}})
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")
    with pytest.raises(BadRequest, match="Object 'Kind' is missing"):
        await cluster.create("widgets", {"apiVersion": f"{cluster.group}/v1", "metadata": {"name": "w"}})


async def test_version_and_kind_of_a_custom_resource_must_match_the_path(cluster: Cluster) -> None:
    await cluster.create_crd()

    with pytest.raises(BadRequest, match=r"the API version in the data \(x/v1\) does not match the expected"):
        await cluster.create("widgets", {**cluster.widget(), "apiVersion": "x/v1"})
    with pytest.raises(Invalid) as caught:
        await cluster.create("widgets", {**cluster.widget(), "kind": "Gadget"})
    expected = f'Gadget.{cluster.group} "w" is invalid: kind: Invalid value: "Gadget": must be Widget'
    assert caught.value.status.message == expected


@pytest.mark.parametrize(
    ("body", "error", "message"),
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
async def test_an_invalid_body_is_an_error(cluster: Cluster, body: Any, error: type[APIError], message: str) -> None:
    with pytest.raises(error, match=message):
        await cluster.create("configmaps", body)


@pytest.mark.parametrize("version", ["0", "latest"])
async def test_an_invalid_or_zero_resource_version_is_ignored(cluster: Cluster, version: str) -> None:
    created = await cluster.create("configmaps", config(resourceVersion=version))

    assert created["metadata"]["resourceVersion"].isdecimal()


async def test_creating_in_a_missing_namespace_is_a_404(cluster: Cluster) -> None:
    with pytest.raises(NotFound) as caught:
        await cluster.create("configmaps", config(), namespace=f"no-{cluster.namespace}")

    status = caught.value.status
    assert status.message == f'namespaces "no-{cluster.namespace}" not found'
    assert (status.kind, status.name) == ("namespaces", f"no-{cluster.namespace}")


async def test_the_status_of_a_new_object_is_dropped_if_there_is_a_status_subresource(cluster: Cluster) -> None:
    created: JSONObject = await cluster.create("deployments", {**workload(), "status": {"replicas": 7}})

    assert created["status"] == {}
