"""Update: optimistic concurrency, generations, and fields that cannot be changed."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest, Conflict, Invalid, NotFound, ServerError
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, config, version, workload


@pytest.fixture
async def stored(cluster: Cluster) -> JSONObject:
    return await cluster.create("configmaps", config())


@pytest.fixture
async def widget(cluster: Cluster) -> JSONObject:
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}})]))
    return await cluster.create("widgets", cluster.widget(spec={"size": 1}, status={"ready": True}))


async def test_an_update_replaces_the_object_and_its_resource_version(cluster: Cluster, stored: JSONObject) -> None:
    updated = await cluster.update("configmaps", {**stored, "data": {"k": "w"}})

    assert updated["data"] == {"k": "w"}
    assert int(updated["metadata"]["resourceVersion"]) > int(stored["metadata"]["resourceVersion"])
    assert updated["metadata"]["uid"] == stored["metadata"]["uid"]


async def test_an_update_without_changes_writes_nothing(cluster: Cluster, stored: JSONObject) -> None:
    assert await cluster.update("configmaps", stored) == stored


async def test_an_update_with_an_old_resource_version_is_a_conflict(cluster: Cluster, stored: JSONObject) -> None:
    await cluster.update("configmaps", {**stored, "data": {}})

    with pytest.raises(Conflict) as caught:
        await cluster.update("configmaps", {**stored, "data": {"k": "w"}})

    status = caught.value.status
    assert status.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes '
        "to the latest version and try again"
    )
    assert (status.code, status.reason, status.kind, status.name) == (409, "Conflict", "configmaps", "a")


@pytest.mark.parametrize("version", ["", "0"])
async def test_an_update_of_a_built_in_object_without_a_resource_version_succeeds(
    cluster: Cluster, stored: JSONObject, version: str
) -> None:
    await cluster.update("configmaps", {**stored, "data": {"k": "w"}})

    updated = await cluster.update("configmaps", config(resourceVersion=version))

    assert updated["data"] == {"k": "v"}


async def test_an_update_of_a_custom_resource_without_a_resource_version_is_a_422(
    cluster: Cluster, widget: JSONObject
) -> None:
    for given in ({"name": "w"}, {"name": "w", "resourceVersion": "0"}):
        with pytest.raises(Invalid) as caught:
            await cluster.update("widgets", cluster.widget(metadata=given))

        expected = f'widgets.{cluster.group} "w" is invalid: metadata.resourceVersion: Invalid value: '
        assert caught.value.status.message.startswith(expected)
        assert caught.value.status.message.endswith(": must be specified for an update")


async def test_a_resource_version_that_is_not_a_number_is_a_500(cluster: Cluster, stored: JSONObject) -> None:
    with pytest.raises(ServerError, match=r'strconv\.ParseUint: parsing "latest": invalid syntax'):
        await cluster.update("configmaps", config(resourceVersion="latest"))


async def test_an_update_with_another_uid_is_a_conflict(cluster: Cluster, stored: JSONObject) -> None:
    with pytest.raises(Conflict) as caught:
        await cluster.update("configmaps", config(uid="x"))

    key, uid = f"/registry/configmaps/{cluster.namespace}/a", stored["metadata"]["uid"]
    assert caught.value.status.message == (
        f'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: {key}, '
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, "
        f"UID in object meta: {uid}"
    )


async def test_an_update_cannot_change_creation_timestamp_and_generation(cluster: Cluster, stored: JSONObject) -> None:
    body = {**stored, "metadata": {**stored["metadata"], "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 7}}

    assert await cluster.update("configmaps", body) == stored


@pytest.mark.parametrize("verb", ["update", "patch"])
async def test_an_update_or_patch_cannot_set_the_deletion_timestamp(
    cluster: Cluster, verb: str, stored: JSONObject
) -> None:
    body = config(deletionTimestamp="1999-01-01T00:00:00Z", deletionGracePeriodSeconds=3)
    method, content_type = ("PUT", "application/json") if verb == "update" else ("PATCH", MERGE)

    with pytest.raises(Invalid) as caught:
        await cluster.request(method, cluster.path("configmaps", "a"), body=body, content_type=content_type)

    fields = {cause.field for cause in caught.value.causes}
    assert fields == {"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds"}
    assert all(cause.message.endswith(": field is immutable") for cause in caught.value.causes)


async def test_name_and_namespace_in_the_body_must_match_the_path(cluster: Cluster, stored: JSONObject) -> None:
    path = cluster.path("configmaps", "b")

    with pytest.raises(BadRequest, match=r"name of the object \(a\) does not match the name on the URL \(b\)"):
        await cluster.request("PUT", path, body=stored)
    with pytest.raises(BadRequest, match=r"name of the object \(b based on URL\) was undeterminable: name must be"):
        await cluster.request("PUT", path, body={"data": {}})
    with pytest.raises(BadRequest, match="does not match the namespace"):
        await cluster.request("PUT", path, body=config("b", namespace="other"))


async def test_an_update_of_a_missing_object_is_a_404(cluster: Cluster) -> None:
    with pytest.raises(NotFound) as caught:
        await cluster.update("configmaps", config())

    assert caught.value.status.message == 'configmaps "a" not found'


@pytest.mark.parametrize(
    ("resource", "code"), [("configmaps", 404), ("leases", 201), ("endpoints", 201), ("roles", 201)]
)
async def test_an_update_creates_missing_objects_of_some_kinds(cluster: Cluster, resource: str, code: int) -> None:
    body = {"metadata": {"name": "l", "resourceVersion": "5"}}

    response = await cluster.call("PUT", cluster.path(resource, "l"), body=body)

    assert response.code == code
    if code == 201:
        assert (await cluster.get(resource, "l"))["metadata"]["uid"]


async def test_an_update_with_a_uid_does_not_create_a_missing_object(cluster: Cluster) -> None:
    with pytest.raises(Conflict, match="UID in precondition: u, UID in object meta: "):
        await cluster.update("leases", {"metadata": {"name": "l", "uid": "u"}})


async def test_an_update_of_a_lease_without_a_resource_version_is_a_422(cluster: Cluster) -> None:
    await cluster.create("leases", {"metadata": {"name": "l"}})

    with pytest.raises(Invalid, match=r"metadata\.resourceVersion: Invalid value: .*must be specified for an update"):
        await cluster.update("leases", {"metadata": {"name": "l"}})


async def test_a_dry_run_of_an_update_does_not_change_the_object(cluster: Cluster, stored: JSONObject) -> None:
    response = await cluster.update("configmaps", {**stored, "data": {}}, params={"dryRun": "All"})

    assert "data" not in response
    assert response["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
    assert await cluster.get("configmaps", "a") == stored


async def test_a_dry_run_of_an_update_creates_nothing(cluster: Cluster) -> None:
    lease = {"metadata": {"name": "l"}}
    response = await cluster.call("PUT", cluster.path("leases", "l"), body=lease, params={"dryRun": "All"})

    assert response.code == 201
    with pytest.raises(NotFound):
        await cluster.get("leases", "l")


async def test_only_changes_of_the_spec_increase_the_generation(cluster: Cluster, widget: JSONObject) -> None:
    labelled = await cluster.update("widgets", {**widget, "metadata": {**widget["metadata"], "labels": {"a": "b"}}})
    resized = await cluster.update("widgets", {**labelled, "spec": {"size": 2}})

    assert [obj["metadata"]["generation"] for obj in (widget, labelled, resized)] == [1, 1, 2]


async def test_changed_annotations_of_a_deployment_increase_its_generation(cluster: Cluster) -> None:
    await cluster.create("deployments", workload())
    labelled = await cluster.patch("deployments", "d", {"metadata": {"labels": {"a": "b"}}})
    annotated = await cluster.patch("deployments", "d", {"metadata": {"annotations": {"a": "b"}}})

    assert [obj["metadata"]["generation"] for obj in (labelled, annotated)] == [1, 2]


async def test_the_generation_of_a_config_map_stays_as_created(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config(generation=9))
    updated = await cluster.patch("configmaps", "a", {"metadata": {"generation": 3}, "data": {"k": "w"}})

    assert [obj["metadata"]["generation"] for obj in (created, updated)] == [9, 9]


async def test_only_the_status_subresource_writes_the_status(cluster: Cluster, widget: JSONObject) -> None:
    assert "status" not in widget
    assert "status" not in await cluster.update("widgets", {**widget, "status": {"ready": True}})

    changed = {**widget, "spec": {"size": 9}, "status": {"ready": True}}
    changed["metadata"] = {**widget["metadata"], "labels": {"a": "b"}, "annotations": {"a": "b"}}
    written = await cluster.update("widgets/status", changed)

    assert (written["status"], written["spec"]) == ({"ready": True}, {"size": 1})
    assert not {"labels", "annotations"} & set(written["metadata"])
    assert written["metadata"]["generation"] == 1


async def test_a_status_with_an_old_resource_version_is_a_conflict(cluster: Cluster, widget: JSONObject) -> None:
    await cluster.update("widgets/status", {**widget, "status": {"ready": True}})

    with pytest.raises(Conflict):
        await cluster.update("widgets/status", {**widget, "status": {"ready": False}})


async def test_without_a_status_subresource_status_is_a_normal_field(cluster: Cluster) -> None:
    await cluster.create_crd()
    created = await cluster.create("widgets", cluster.widget(status={"ready": False}))

    updated = await cluster.update("widgets", {**created, "status": {"ready": True}})

    assert updated["status"] == {"ready": True}
    assert updated["metadata"]["generation"] == 2
