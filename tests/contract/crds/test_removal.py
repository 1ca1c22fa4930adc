"""Deleting CRDs: objects are deleted first, then watches end, then the CRD is gone; and creating them again."""

from __future__ import annotations

import pytest

from dynkube.errors import AlreadyExists, Conflict, Forbidden, MethodNotAllowed, NotFound
from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import CRDS, JSONObject, conditions, version

HOLD = "example.com/hold"


async def _defined_with_a_held_object(cluster: Cluster) -> JSONObject:
    """Define Widgets, and create one with a finalizer."""
    defined = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget(metadata={"name": "w", "finalizers": [HOLD]}))
    return defined


async def test_objects_are_deleted_before_watches_end_and_the_crd_is_gone(cluster: Cluster) -> None:
    defined = await cluster.create_crd()
    for name in ("a", "b"):
        await cluster.create("widgets", cluster.widget(name))
    start = (await cluster.list_of("widgets"))["metadata"]["resourceVersion"]

    async with cluster.watch("widgets", resourceVersion=start) as events:
        response = await cluster.delete(CRDS, defined["metadata"]["name"])
        deletions = await events.rest()

    assert conditions(response)["Terminating"] == ("True", "InstanceDeletionPending")
    assert response["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert "deletionTimestamp" in response["metadata"]
    assert sorted(types_and_names(deletions)) == [("DELETED", "a"), ("DELETED", "b")]
    last = await cluster.wait_gone(CRDS, response)
    assert int(last["metadata"]["resourceVersion"]) > int(deletions[-1]["object"]["metadata"]["resourceVersion"])
    with pytest.raises(NotFound):
        await cluster.get(CRDS, defined["metadata"]["name"])


async def test_the_paths_of_a_deleted_crd_are_404(cluster: Cluster) -> None:
    defined = await cluster.create_crd()
    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, defined["metadata"]["name"]))
    await cluster.until_not_served("widgets")

    for method in ("GET", "POST", "DELETE"):
        response = await cluster.call(method, cluster.path("widgets"), body={} if method == "POST" else None)
        assert (response.code, response.body) == (404, "404 page not found\n")


async def test_an_object_with_a_finalizer_keeps_its_crd_which_allows_no_creates(cluster: Cluster) -> None:
    defined = await _defined_with_a_held_object(cluster)

    response = await cluster.delete(CRDS, defined["metadata"]["name"])
    going = await cluster.wait_for(
        CRDS, response, lambda found: conditions(found)["Terminating"][1] != "InstanceDeletionPending"
    )

    assert conditions(going)["Terminating"] == ("True", "InstanceDeletionInProgress")
    assert await cluster.names("widgets") == ["w"]
    error = Forbidden if cluster.version >= (1, 25) else MethodNotAllowed
    with pytest.raises(error, match="create not allowed while custom resource definition is terminating"):
        await cluster.create("widgets", cluster.widget("new"))
    with pytest.raises(AlreadyExists, match=r"object is being deleted: .* already exists"):
        await cluster.create(CRDS, cluster.crd())

    await cluster.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}})
    await cluster.patch("widgets", "w", {"metadata": {"finalizers": None}})
    await cluster.wait_gone(CRDS, going)


@pytest.mark.since("1.25", "patches and applies created objects meanwhile")
async def test_an_apply_cannot_create_objects_of_a_terminating_crd(cluster: Cluster) -> None:
    defined = await _defined_with_a_held_object(cluster)

    response = await cluster.delete(CRDS, defined["metadata"]["name"])
    await cluster.wait_for(
        CRDS, response, lambda found: conditions(found)["Terminating"][1] != "InstanceDeletionPending"
    )

    with pytest.raises(Forbidden, match="create not allowed while custom resource definition is terminating"):
        await cluster.apply("widgets", cluster.widget("new"), "me")
    await cluster.patch("widgets", "w", {"metadata": {"finalizers": None}})


async def test_discovery_shows_a_terminating_resource_without_writing_verbs(cluster: Cluster) -> None:
    defined = await _defined_with_a_held_object(cluster)

    await cluster.delete(CRDS, defined["metadata"]["name"])

    verbs = ["delete", "deletecollection", "get", "list", "watch"]

    async def is_listed() -> bool:
        found = await cluster.request("GET", f"/apis/{cluster.group}/v1")
        return bool(found["resources"][0]["verbs"] == verbs)

    await cluster.until(is_listed)
    await cluster.patch("widgets", "w", {"metadata": {"finalizers": None}})


async def test_a_crd_can_be_recreated_with_another_scope_and_has_no_objects(cluster: Cluster) -> None:
    before = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())
    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, before["metadata"]["name"]))
    await cluster.until_not_served("widgets")

    after = await cluster.create_crd(cluster.crd(scope="Cluster"))

    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert await cluster.names("widgets") == []
    async with cluster.watch("widgets") as events:
        await cluster.create("widgets", cluster.widget("root"))
        assert types_and_names(await events.take(1)) == [("ADDED", "root")]


async def test_a_crd_can_be_recreated_with_another_kind_and_version(cluster: Cluster) -> None:
    before = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())
    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, before["metadata"]["name"]))
    await cluster.until_not_served("widgets")

    await cluster.create_crd(cluster.crd(kind="Gizmo", versions=[version("v2")]))

    listed = await cluster.list_of("widgets")
    assert (listed["kind"], listed["apiVersion"], listed["items"]) == ("GizmoList", f"{cluster.group}/v2", [])
    old = cluster.path("widgets").replace("/v2/", "/v1/")
    assert (await cluster.call("GET", old)).code == 404


@pytest.mark.since("1.25", "it took up to a minute")
async def test_deleting_a_crd_without_served_versions_deletes_its_objects(cluster: Cluster) -> None:
    defined = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())
    name = defined["metadata"]["name"]
    (stored,) = (await cluster.get(CRDS, name))["spec"]["versions"]
    await cluster.patch(CRDS, name, {"spec": {"versions": [{**stored, "served": False}]}})
    await cluster.until_not_served("widgets")

    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, name))
    await cluster.create_crd()

    assert await cluster.names("widgets") == []


async def test_a_crd_with_its_own_finalizer_stays_without_objects(cluster: Cluster) -> None:
    body = cluster.crd()
    body["metadata"]["finalizers"] = [HOLD]
    defined = await cluster.create_crd(body)
    name = defined["metadata"]["name"]

    response = await cluster.delete(CRDS, name)

    remaining = await cluster.wait_for(CRDS, response, lambda found: found["metadata"]["finalizers"] == [HOLD])
    assert conditions(remaining)["Terminating"] == ("False", "InstanceDeletionCompleted")
    await cluster.patch(CRDS, name, {"metadata": {"finalizers": None}})
    await cluster.wait_gone(CRDS, remaining)


async def test_crds_can_be_deleted_by_selector(cluster: Cluster) -> None:
    labelled = cluster.crd()
    labelled["metadata"]["labels"] = {"going": cluster.namespace}
    first, second = await cluster.create_crd(labelled), await cluster.create_crd(cluster.crd("gadgets", "Gadget"))
    await cluster.create("widgets", cluster.widget())

    await cluster.delete_all(CRDS, labelSelector=f"going={cluster.namespace}")

    await cluster.wait_gone(CRDS, first)
    remaining = await cluster.get(CRDS, second["metadata"]["name"])
    assert "deletionTimestamp" not in remaining["metadata"]
    await cluster.until_not_served("widgets")


async def test_a_delete_with_another_uid_is_a_conflict(cluster: Cluster) -> None:
    defined = await cluster.create_crd()

    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: other"):
        await cluster.delete(CRDS, defined["metadata"]["name"], body={"preconditions": {"uid": "other"}})

    assert "deletionTimestamp" not in (await cluster.get(CRDS, defined["metadata"]["name"]))["metadata"]


async def test_a_second_delete_does_not_change_the_deletion_timestamp(cluster: Cluster) -> None:
    body = cluster.crd()
    body["metadata"]["finalizers"] = [HOLD]
    defined = await cluster.create_crd(body)
    name = defined["metadata"]["name"]

    first = await cluster.delete(CRDS, name)
    second = await cluster.delete(CRDS, name)

    assert second["metadata"]["deletionTimestamp"] == first["metadata"]["deletionTimestamp"]
    await cluster.patch(CRDS, name, {"metadata": {"finalizers": None}})


async def test_a_dry_run_deletes_nothing(cluster: Cluster) -> None:
    defined = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())

    await cluster.delete(CRDS, defined["metadata"]["name"], params={"dryRun": "All"})

    remaining = await cluster.get(CRDS, defined["metadata"]["name"])
    assert remaining["metadata"]["resourceVersion"] == defined["metadata"]["resourceVersion"]
    assert await cluster.names("widgets") == ["w"]
