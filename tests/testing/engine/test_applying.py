"""Server-side apply: create or merge, conflicts between managers, giving up fields."""

from __future__ import annotations

import pytest

from dynkube.errors import ApplyConflict, BadRequest, Invalid
from dynkube.testing._calls.api import APPLY_PATCH, JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, config, definition, version, widget


def applied(**data: str) -> JSONObject:
    return {**config(), "data": data}


def owners(obj: JSONObject) -> dict[str, JSONObject]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def test_an_apply_creates_what_is_not_there_and_owns_it(cluster: Cluster) -> None:
    request = cluster.request(
        "patch", "configmaps", "a", body=applied(k="v"), content_type=APPLY_PATCH, params={"fieldManager": "me"}
    )
    result = cluster.engine.handle(request)

    assert result.status == 201
    created = result.document.data
    assert created["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k": {}}},
        }
    ]


def test_managers_share_an_object_field_by_field(cluster: Cluster) -> None:
    cluster.apply("configmaps", applied(a="1", both="x"), "one")
    merged = cluster.apply("configmaps", applied(b="2", both="x"), "two")

    assert merged["data"] == {"a": "1", "b": "2", "both": "x"}
    assert owners(merged) == {
        "one": {"f:data": {"f:a": {}, "f:both": {}}},
        "two": {"f:data": {"f:b": {}, "f:both": {}}},
    }


def test_another_value_for_a_field_of_others_is_a_conflict_that_names_them(cluster: Cluster) -> None:
    cluster.apply("configmaps", applied(a="1", b="1"), "one")

    with pytest.raises(ApplyConflict) as caught:
        cluster.apply("configmaps", applied(a="2", b="1"), "two")
    (cause,) = caught.value.causes
    assert (cause.reason, cause.field, cause.message) == (
        "FieldManagerConflict",
        ".data.a",
        'conflict with "one"',
    )
    assert caught.value.status.message == 'Apply failed with 1 conflict: conflict with "one": .data.a'


def test_force_takes_the_field_over(cluster: Cluster) -> None:
    cluster.apply("configmaps", applied(a="1", b="1"), "one")
    taken = cluster.apply("configmaps", applied(a="2"), "two", force=True)

    assert taken["data"] == {"a": "2", "b": "1"}
    assert owners(taken) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}


def test_a_field_no_longer_applied_goes_unless_somebody_else_owns_it(cluster: Cluster) -> None:
    cluster.apply("configmaps", applied(mine="1", ours="1"), "one")
    cluster.apply("configmaps", applied(ours="1"), "two")

    assert cluster.apply("configmaps", config() | {"data": {}}, "one")["data"] == {"ours": "1"}


def test_applying_the_same_again_writes_nothing(cluster: Cluster) -> None:
    first = cluster.apply("configmaps", applied(a="1"), "one")

    assert cluster.apply("configmaps", applied(a="1"), "one") == first


def test_lists_merge_by_their_keys(cluster: Cluster) -> None:
    def of(*containers: JSONObject) -> JSONObject:
        body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "p"}}
        return {**body, "template": {"spec": {"containers": list(containers)}}}

    cluster.apply("podtemplates", of({"name": "app", "image": "app:1"}), "one")
    merged = cluster.apply("podtemplates", of({"name": "side", "image": "side:1"}), "two")
    assert [container["name"] for container in merged["template"]["spec"]["containers"]] == ["app", "side"]

    with pytest.raises(ApplyConflict) as caught:
        cluster.apply("podtemplates", of({"name": "app", "image": "app:2"}), "two")
    assert caught.value.causes[0].field == '.template.spec.containers[name="app"].image'

    left = cluster.apply("podtemplates", of({"name": "app"}), "two")
    assert [container["name"] for container in left["template"]["spec"]["containers"]] == ["app"]


def test_a_schema_says_how_the_lists_of_custom_objects_merge(cluster: Cluster) -> None:
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
    cluster.create(CRDS, definition(versions=[version(schema={"openAPIV3Schema": schema})]))
    cluster.apply("widgets", widget(spec={"keyed": [{"id": 1, "a": 1}], "set": ["x"], "whole": ["x"]}), "one")

    second = widget(spec={"keyed": [{"id": 1, "b": 1}, {"id": 2}], "set": ["y"]})
    merged = cluster.apply("widgets", second, "two")["spec"]

    assert merged == {"keyed": [{"id": 1, "a": 1, "b": 1}, {"id": 2}], "set": ["x", "y"], "whole": ["x"]}
    with pytest.raises(ApplyConflict):
        cluster.apply("widgets", widget(spec={"whole": ["y"]}), "two")


def test_the_status_is_applied_through_its_subresource(cluster: Cluster) -> None:
    cluster.create(CRDS, definition(versions=[version(subresources={"status": {}})]))
    cluster.apply("widgets", widget(spec={"a": 1}, status={"ready": True}), "one")

    done = cluster.apply("widgets", widget(spec={"a": 2}, status={"ready": True}), "two", subresource="status")

    assert (done["spec"], done["status"]) == ({"a": 1}, {"ready": True})
    assert [entry.get("subresource") for entry in done["metadata"]["managedFields"]] == [None, "status"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({**config(), "metadata": {"name": "a", "managedFields": [{}]}}, "metadata.managedFields must be nil"),
        ({"metadata": {"name": "a"}}, "invalid object type: /, Kind="),
        ({**config("b")}, "does not match the name on the URL"),
    ],
)
def test_a_body_that_cannot_be_applied_is_refused(cluster: Cluster, body: JSONObject, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        cluster.patch("configmaps", "a", body, APPLY_PATCH, params={"fieldManager": "me"})


def test_an_apply_needs_a_manager_and_other_patches_cannot_be_forced(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="fieldManager: Required value: is required for apply patch"):
        cluster.patch("configmaps", "a", applied(), APPLY_PATCH)
    with pytest.raises(Invalid, match="force: Forbidden: may not be specified for non-apply patch"):
        cluster.patch("configmaps", "a", {}, params={"force": "true"})
