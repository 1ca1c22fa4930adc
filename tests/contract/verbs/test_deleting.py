"""Delete: immediately or after finalizers, with preconditions, and of collections."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, InternalError, Invalid, NotFound
from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import config, workload

HELD = ["example.com/hold"]


async def test_the_response_to_a_delete_is_a_status_with_the_object_in_its_details(cluster: Cluster) -> None:
    created = await cluster.create("deployments", workload())

    response = await cluster.delete("deployments", "d")

    assert (response["kind"], response["apiVersion"], response["status"]) == ("Status", "v1", "Success")
    uid = created["metadata"]["uid"]
    assert response["details"] == {"name": "d", "group": "apps", "kind": "deployments", "uid": uid}
    with pytest.raises(NotFound) as caught:
        await cluster.delete("deployments", "d")
    assert caught.value.status.message == 'deployments.apps "d" not found'


@pytest.mark.parametrize("resource", ["serviceaccounts", "podtemplates", "resourcequotas"])
async def test_the_response_for_some_kinds_is_the_deleted_object(cluster: Cluster, resource: str) -> None:
    template = {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
    created = await cluster.create(
        resource, {"metadata": {"name": "a"}, **(template if resource == "podtemplates" else {})}
    )

    response = await cluster.delete(resource, "a")

    assert (response["kind"], response["metadata"]["uid"]) == (created["kind"], created["metadata"]["uid"])


async def test_an_object_with_finalizers_is_deleted_when_the_last_one_is_removed(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=HELD))

    marked = await cluster.delete("configmaps", "a")
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (await cluster.delete("configmaps", "a"))["metadata"]["deletionTimestamp"]

    await cluster.patch("configmaps", "a", {"metadata": {"finalizers": []}})
    with pytest.raises(NotFound):
        await cluster.get("configmaps", "a")


async def test_an_object_being_deleted_can_be_changed(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=HELD))
    await cluster.delete("configmaps", "a")

    written = await cluster.patch("configmaps", "a", {"data": {"k": "w"}, "metadata": {"labels": {"a": "b"}}})

    assert written["data"] == {"k": "w"}
    assert written["metadata"]["deletionTimestamp"]


async def test_the_deleted_event_has_the_last_stored_object(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=HELD))
    marked = await cluster.delete("configmaps", "a")
    version = marked["metadata"]["resourceVersion"]

    async with cluster.watch("configmaps", resourceVersion=version) as events:
        await cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}})
        event = await events.next()

    assert (event["type"], event["object"]["metadata"]["finalizers"]) == ("DELETED", HELD)
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)


async def test_adding_a_finalizer_to_an_object_being_deleted_is_a_422(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=[*HELD, "a.b/d"]))
    await cluster.delete("configmaps", "a")
    await cluster.patch("configmaps", "a", {"metadata": {"finalizers": HELD}})

    with pytest.raises(Invalid, match=r"no new finalizers can be added .* found new finalizers \[\]string{\"a.b/c\"}"):
        await cluster.patch("configmaps", "a", {"metadata": {"finalizers": [*HELD, "a.b/c"]}})


@pytest.mark.parametrize(("field", "label"), [("uid", "UID"), ("resourceVersion", "ResourceVersion")])
@pytest.mark.parametrize("held", [True, False])
async def test_a_failed_precondition_is_a_conflict(cluster: Cluster, field: str, label: str, held: bool) -> None:
    created = (await cluster.create("configmaps", config(finalizers=HELD if held else [])))["metadata"]

    with pytest.raises(Conflict) as caught:
        await cluster.delete("configmaps", "a", body={"preconditions": {field: "77"}})
    expected = (
        f"the {label} in the precondition (77) does not match the {label} in record ({created[field]}). The object"
    )
    assert f'Operation cannot be fulfilled on ConfigMap "a": {expected}' in caught.value.status.message

    await cluster.delete("configmaps", "a", body={"preconditions": {field: created[field]}})


async def test_a_failed_precondition_of_a_namespace_has_another_message(cluster: Cluster) -> None:
    with pytest.raises(Conflict, match=r'namespaces ".*": Precondition failed: UID in precondition: x'):
        await cluster.delete("namespaces", cluster.namespace, body={"preconditions": {"uid": "x"}})


@pytest.mark.parametrize("how", [{"params": {"dryRun": "All"}}, {"body": {"dryRun": ["All"]}}])
@pytest.mark.parametrize("held", [True, False])
async def test_a_dry_run_deletes_nothing(cluster: Cluster, how: dict[str, Any], held: bool) -> None:
    created = await cluster.create("configmaps", config(finalizers=HELD if held else []))

    response = await cluster.delete("configmaps", "a", **how)

    assert response["kind"] == ("ConfigMap" if held else "Status")
    assert await cluster.get("configmaps", "a") == created


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"body": {"propagationPolicy": "Sometimes"}}, 'propagationPolicy: Unsupported value: "Sometimes"'),
        ({"params": {"propagationPolicy": "Sometimes"}}, 'propagationPolicy: Unsupported value: "Sometimes"'),
        ({"body": {"propagationPolicy": "Orphan", "orphanDependents": True}}, "cannot be both set"),
        ({"body": {"dryRun": ["All", "x"]}}, r'dryRun: Unsupported value: .*"All",.?"x".: supported values: "All"'),
        ({"params": {"dryRun": ""}}, r'dryRun: Unsupported value: .*"".: supported values: "All"'),
    ],
)
async def test_invalid_options_are_a_422(cluster: Cluster, how: dict[str, Any], message: str) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(Invalid, match=message) as caught:
        await cluster.delete("configmaps", "a", **how)
    assert (caught.value.status.kind, caught.value.status.group) == ("DeleteOptions", "meta.k8s.io")


async def test_a_body_that_is_not_delete_options_is_an_error(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(BadRequest if cluster.version >= (1, 27) else InternalError, match='no kind "ConfigMap" is reg'):
        await cluster.delete("configmaps", "a", body=config())


async def test_marking_an_object_for_deletion_increases_its_generation(cluster: Cluster) -> None:
    deployment = workload()
    deployment["metadata"]["finalizers"] = HELD
    assert (await cluster.create("deployments", deployment))["metadata"]["generation"] == 1

    assert (await cluster.delete("deployments", "d"))["metadata"]["generation"] == 2


async def test_a_delete_does_not_change_managed_fields(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config(finalizers=HELD))

    marked = await cluster.delete("configmaps", "a")

    assert marked["metadata"]["managedFields"] == created["metadata"]["managedFields"]


async def test_a_collection_can_be_deleted_by_selectors(cluster: Cluster) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        await cluster.create("configmaps", config(name, labels=labels))
    version = (await cluster.list_of("configmaps"))["metadata"]["resourceVersion"]

    async with cluster.watch("configmaps", resourceVersion=version) as events:
        response = await cluster.delete_all("configmaps", labelSelector="x=1")
        deleted = await events.take(2)

    assert response["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in response["items"]] == ["a", "c"]
    assert sorted(types_and_names(deleted)) == [("DELETED", "a"), ("DELETED", "c")]
    assert "b" in await cluster.names("configmaps")


@pytest.mark.parametrize("params", [{"fieldSelector": "metadata.name=b"}, {"labelSelector": "x"}])
async def test_a_dry_run_of_a_collection_deletes_nothing(cluster: Cluster, params: dict[str, str]) -> None:
    await cluster.create("configmaps", config("b", labels={"x": "1"}))

    response = await cluster.delete_all("configmaps", dryRun="All", **params)

    assert [item["metadata"]["name"] for item in response["items"]] == ["b"]
    assert await cluster.names("configmaps", labelSelector="x") == ["b"]


async def test_deleting_a_collection_with_a_limit_deletes_that_many(cluster: Cluster) -> None:
    for name in "abc":
        await cluster.create("configmaps", config(name, labels={"x": "1"}))

    response = await cluster.delete_all("configmaps", labelSelector="x", limit="2")

    assert [item["metadata"]["name"] for item in response["items"]] == ["a", "b"]
    assert await cluster.names("configmaps", labelSelector="x") == ["c"]


async def test_objects_of_a_deleted_collection_with_finalizers_are_marked(cluster: Cluster) -> None:
    await cluster.create("configmaps", config("a", labels={"x": "1"}))
    await cluster.create("configmaps", config("b", labels={"x": "1"}, finalizers=HELD))

    await cluster.delete_all("configmaps", labelSelector="x")

    (remaining,) = (await cluster.list_of("configmaps", labelSelector="x"))["items"]
    assert remaining["metadata"]["name"] == "b"
    assert remaining["metadata"]["deletionTimestamp"]
