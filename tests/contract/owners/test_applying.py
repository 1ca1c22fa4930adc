"""Server-side apply: creating, merging, conflicts between managers, and fields that are no longer applied."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError, ApplyConflict, BadRequest, Conflict, Invalid, NotFound
from tests.contract.cluster import APPLY, Cluster
from tests.contract.objects import JSONObject, config, owners, version

TEXT = pytest.mark.since("1.22", "the message was different")


def applied(**data: str) -> JSONObject:
    return {**config(), "data": data}


async def test_an_apply_creates_a_missing_object_and_owns_its_fields(cluster: Cluster) -> None:
    path = cluster.path("configmaps", "a")
    params = {"fieldManager": "me"}

    response = await cluster.call("PATCH", path, body=applied(k="v"), content_type=APPLY, params=params)

    assert response.code == 201
    (entry,) = response.body["metadata"]["managedFields"]
    assert entry.pop("time")
    assert entry == {
        "manager": "me",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }


async def test_yaml_can_be_applied(cluster: Cluster) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {k: 'yes'}\n"

    created = await cluster.patch("configmaps", "a", text, APPLY, params={"fieldManager": "me"})

    assert created["data"] == {"k": "yes"}


async def test_a_dry_run_of_an_apply_stores_nothing(cluster: Cluster) -> None:
    response = await cluster.apply("configmaps", applied(k="v"), "me", params={"dryRun": "All"})

    assert owners(response) == {"me": {"f:data": {"f:k": {}}}}
    with pytest.raises(NotFound):
        await cluster.get("configmaps", "a")


@pytest.mark.parametrize("version", ["5", "0"])
async def test_a_dry_run_of_a_create_keeps_the_resource_version_of_the_body(cluster: Cluster, version: str) -> None:
    """Only the storage sets it; see https://github.com/kubernetes/kubernetes/issues/106745."""
    body = config(resourceVersion=version)

    dry = await cluster.apply("configmaps", body, "me", params={"dryRun": "All"})
    posted = await cluster.create("configmaps", body, params={"dryRun": "All"})
    stored = await cluster.apply("configmaps", body, "me")

    assert (dry["metadata"]["resourceVersion"], posted["metadata"]["resourceVersion"]) == (version, version)
    assert stored["metadata"]["resourceVersion"] != version


async def test_managers_share_an_object_field_by_field(cluster: Cluster) -> None:
    await cluster.apply("configmaps", applied(a="1", both="x"), "one")
    merged = await cluster.apply("configmaps", applied(b="2", both="x"), "two")

    assert merged["data"] == {"a": "1", "b": "2", "both": "x"}
    assert owners(merged) == {
        "one": {"f:data": {"f:a": {}, "f:both": {}}},
        "two": {"f:data": {"f:b": {}, "f:both": {}}},
    }


async def test_another_value_for_a_field_of_another_manager_is_a_conflict(cluster: Cluster) -> None:
    await cluster.apply("configmaps", applied(a="1", b="1"), "one")

    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("configmaps", applied(a="2", b="1"), "two")

    (cause,) = caught.value.causes
    assert (cause.reason, cause.field, cause.message) == ("FieldManagerConflict", ".data.a", 'conflict with "one"')
    assert caught.value.status.message == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert (caught.value.status.code, caught.value.status.reason) == (409, "Conflict")


async def test_several_conflicts_are_listed_by_manager(cluster: Cluster) -> None:
    await cluster.apply("configmaps", applied(a="1", b="1"), "two")
    await cluster.apply("configmaps", applied(b="1", c="1"), "one")

    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("configmaps", applied(a="2", b="2", c="1"), "me")

    assert caught.value.status.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .data.b\nconflicts with "two":\n- .data.a\n- .data.b'
    )
    assert sorted((cause.message, cause.field) for cause in caught.value.causes) == [
        ('conflict with "one"', ".data.b"),
        ('conflict with "two"', ".data.a"),
        ('conflict with "two"', ".data.b"),
    ]


async def test_force_takes_over_the_field(cluster: Cluster) -> None:
    await cluster.apply("configmaps", applied(a="1", b="1"), "one")
    taken = await cluster.apply("configmaps", applied(a="2"), "two", force=True)

    assert taken["data"] == {"a": "2", "b": "1"}
    assert owners(taken) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


async def test_a_field_no_longer_applied_is_removed_unless_another_manager_owns_it(cluster: Cluster) -> None:
    await cluster.apply("configmaps", applied(mine="1", ours="1"), "one")
    await cluster.apply("configmaps", applied(ours="1"), "two")

    assert (await cluster.apply("configmaps", applied(), "one"))["data"] == {"ours": "1"}


async def test_applying_the_same_again_writes_nothing(cluster: Cluster) -> None:
    first = await cluster.apply("configmaps", applied(a="1"), "one")

    assert await cluster.apply("configmaps", applied(a="1"), "one") == first


async def test_an_apply_merges_into_the_metadata(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(labels={"a": "1"}, finalizers=["a.b/c"]))

    body = config(labels={"b": "2"}, annotations={"c": "3"}, finalizers=["d.e/f"])
    merged = await cluster.apply("configmaps", body, "me")

    metadata = merged["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "1", "b": "2"}, {"c": "3"})
    assert metadata["finalizers"] == ["a.b/c", "d.e/f"]
    remaining = await cluster.apply("configmaps", config(), "me")
    assert (remaining["metadata"]["labels"], remaining["metadata"]["finalizers"]) == ({"a": "1"}, ["a.b/c"])


async def test_lists_of_type_map_merge_by_key(cluster: Cluster) -> None:
    def of(*containers: JSONObject) -> JSONObject:
        body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "p"}}
        return {**body, "template": {"spec": {"containers": list(containers)}}}

    await cluster.apply("podtemplates", of({"name": "app", "image": "app:1"}), "one")
    merged = await cluster.apply("podtemplates", of({"name": "side", "image": "side:1"}), "two")
    assert [container["name"] for container in merged["template"]["spec"]["containers"]] == ["app", "side"]

    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("podtemplates", of({"name": "app", "image": "app:2"}), "two")
    assert caught.value.causes[0].field == '.template.spec.containers[name="app"].image'

    remaining = await cluster.apply("podtemplates", of({"name": "app"}), "two")
    assert [container["name"] for container in remaining["template"]["spec"]["containers"]] == ["app"]


async def test_lists_of_custom_resources_merge_by_the_type_in_their_schema(cluster: Cluster) -> None:
    def listed(kind: str, **more: object) -> JSONObject:
        return {"type": "array", "x-kubernetes-list-type": kind, **more}

    fields = {name: {"type": "integer"} for name in ("id", "a", "b")}
    item = {"type": "object", "properties": fields, "required": ["id"]}
    spec = {
        "keyed": listed("map", **{"x-kubernetes-list-map-keys": ["id"]}, items=item),
        "set": listed("set", items={"type": "string"}),
        "whole": {"type": "array", "items": {"type": "string"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    await cluster.create_crd(cluster.crd(versions=[version(schema={"openAPIV3Schema": schema})]))
    first = cluster.widget(spec={"keyed": [{"id": 1, "a": 1}], "set": ["x"], "whole": ["x"]})
    await cluster.apply("widgets", first, "one")

    second = cluster.widget(spec={"keyed": [{"id": 1, "b": 1}, {"id": 2}], "set": ["y"]})
    merged = (await cluster.apply("widgets", second, "two"))["spec"]

    assert merged == {"keyed": [{"id": 1, "a": 1, "b": 1}, {"id": 2}], "set": ["x", "y"], "whole": ["x"]}
    with pytest.raises(ApplyConflict):
        await cluster.apply("widgets", cluster.widget(spec={"whole": ["y"]}), "two")


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_the_status_is_applied_through_its_subresource(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}})]))
    await cluster.apply("widgets", cluster.widget(spec={"a": 1}, status={"ready": True}), "one")

    body = cluster.widget(spec={"a": 2}, status={"ready": True})
    done = await cluster.apply("widgets/status", body, "two")

    assert (done["spec"], done["status"]) == ({"a": 1}, {"ready": True})
    status: JSONObject = {"f:status": {".": {}, "f:ready": {}}}
    assert owners(done) == {"one": {"f:spec": {".": {}, "f:a": {}}}, "two:status": status}


async def test_an_apply_to_the_status_of_a_missing_object_is_a_404(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}})]))

    with pytest.raises(NotFound):
        await cluster.apply("widgets/status", cluster.widget(status={"ready": True}), "me")


@pytest.mark.parametrize(
    ("body", "error", "field_sets"),
    [
        ({**config(), "metadata": {"name": "a", "managedFields": [{}]}}, BadRequest, "managedFields must be nil"),
        ({**config(), "metadata": {"name": "a", "managedFields": []}}, BadRequest, "managedFields must be nil"),
        pytest.param({"metadata": {"name": "a"}}, BadRequest, "invalid object type: /, Kind=", marks=TEXT),
        pytest.param({**config(), "kind": "Secret"}, BadRequest, "invalid object type: /v1, Kind=Secret", marks=TEXT),
        (config("b"), BadRequest, "does not match the name on the URL"),
        (config(namespace="other"), BadRequest, "does not match the namespace"),
        (config(uid="x"), Conflict, "uid mismatch: the provided object specified uid x, and no existing object was"),
        ([], BadRequest, "error decoding YAML: "),
        ("a: [", BadRequest, "error decoding YAML: error converting YAML to JSON: yaml: "),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a"}}, BadRequest, "undeterminable"),
        ({**config(), "spec": {}}, APIError, r"failed to create typed patch object.*: \.spec: field not declared in"),
    ],
)
async def test_an_invalid_body_of_an_apply_is_an_error(
    cluster: Cluster, body: Any, error: type[APIError], field_sets: str
) -> None:
    with pytest.raises(error, match=field_sets):
        await cluster.patch("configmaps", "a", body, APPLY, params={"fieldManager": "me"})


async def test_resource_version_and_uid_in_an_apply_are_preconditions(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())
    await cluster.patch("configmaps", "a", {"metadata": {"labels": {"a": "b"}}})
    identity = {"uid": created["metadata"]["uid"], "resourceVersion": created["metadata"]["resourceVersion"]}

    applied = await cluster.apply("configmaps", config(uid=identity["uid"]), "me")
    assert owners(applied)["me"] == {"f:data": {"f:k": {}}}
    with pytest.raises(Conflict, match="the object has been modified"):
        await cluster.apply("configmaps", config(**identity, labels={"c": "d"}), "me")
    with pytest.raises(Invalid, match=r'metadata\.uid: Invalid value: "x": field is immutable'):
        await cluster.apply("configmaps", config(uid="x"), "me")


@pytest.mark.parametrize("resource", ["configmaps", "widgets"])
async def test_resource_version_1_in_an_apply_requires_that_the_object_is_missing(
    cluster: Cluster, resource: str
) -> None:
    await cluster.create_crd()
    body = config() if resource == "configmaps" else cluster.widget()
    body["metadata"] = {**body["metadata"], "resourceVersion": "1"}

    tried = await cluster.apply(resource, body, "me", params={"dryRun": "All"})
    created = await cluster.apply(resource, body, "me")

    assert tried["metadata"]["name"] == created["metadata"]["name"]
    assert created["metadata"]["resourceVersion"] != "1"
    for force in (False, True):
        with pytest.raises(Conflict, match="the object has been modified"):
            await cluster.apply(resource, body, "me", force=force)


async def test_an_object_being_deleted_can_be_applied(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=["a.b/c"]))
    await cluster.delete("configmaps", "a")

    assert (await cluster.apply("configmaps", applied(k="v", l="w"), "me"))["data"] == {"k": "v", "l": "w"}
    with pytest.raises(Invalid, match="no new finalizers can be added"):
        await cluster.apply("configmaps", config(finalizers=["d.e/f"]), "me")
