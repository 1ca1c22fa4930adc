"""JSON patch, merge patch and strategic merge patch on stored objects."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError, BadRequest, Conflict, Invalid, NotFound, UnsupportedMediaType
from dynkube.testing._calls.api import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, config, definition, widget


@pytest.fixture
def template(cluster: Cluster) -> JSONObject:
    spec = {
        "containers": [
            {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "side", "image": "side:1"},
        ],
        "nodeSelector": {"disk": "ssd"},
    }
    body = {"metadata": {"name": "p", "finalizers": ["a.b/c"]}, "template": {"spec": spec}}
    return cluster.create("podtemplates", body)


def test_a_merge_patch_merges_objects_replaces_the_rest_and_deletes_by_null(cluster: Cluster) -> None:
    cluster.create("configmaps", {**config(), "data": {"a": "1", "b": "2"}})

    patched = cluster.patch("configmaps", "a", {"data": {"a": None, "c": "3"}, "metadata": {"labels": {"x": "y"}}})

    assert patched["data"] == {"b": "2", "c": "3"}
    assert patched["metadata"]["labels"] == {"x": "y"}


def test_a_json_patch_is_carried_out_in_order_or_not_at_all(cluster: Cluster) -> None:
    cluster.create("configmaps", config())
    good = [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "replace", "path": "/data/k", "value": "w"}]

    assert cluster.patch("configmaps", "a", good, JSON_PATCH)["data"] == {"k": "w"}
    with pytest.raises(Invalid, match="rejected our request due to an error in our request") as caught:
        cluster.patch("configmaps", "a", [{"op": "remove", "path": "/data/k"}, good[0]], JSON_PATCH)
    assert caught.value.causes == ()
    assert cluster.get("configmaps", "a")["data"] == {"k": "w"}


def test_a_strategic_patch_merges_lists_by_their_keys(cluster: Cluster, template: JSONObject) -> None:
    env = [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]
    spec = {"containers": [{"name": "app", "env": env}], "nodeSelector": {"zone": "a"}}

    patched = cluster.patch("podtemplates", "p", {"template": {"spec": spec}}, STRATEGIC_PATCH)["template"]["spec"]

    app, side = patched["containers"]
    assert (app["image"], app["env"]) == ("app:1", [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}])
    assert side == template["template"]["spec"]["containers"][1]
    assert patched["nodeSelector"] == {"disk": "ssd", "zone": "a"}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"$patch": "replace", "zone": "a"}, {"zone": "a"}),
        ({"$retainKeys": ["zone"], "zone": "a"}, {"zone": "a"}),
        ({"$patch": "delete"}, {}),
        ({"disk": None, "zone": "a"}, {"zone": "a"}),
    ],
)
def test_strategic_directives_replace_retain_and_delete(
    cluster: Cluster, template: JSONObject, patch: JSONObject, expected: JSONObject
) -> None:
    body = {"template": {"spec": {"nodeSelector": patch}}}

    patched = cluster.patch("podtemplates", "p", body, STRATEGIC_PATCH)

    assert patched["template"]["spec"].get("nodeSelector", {}) == expected


def test_a_strategic_patch_replaces_or_shortens_lists_when_told(cluster: Cluster, template: JSONObject) -> None:
    patch = {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"], "finalizers": ["d.e/f"]},
        "template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "x"}]}},
    }

    patched = cluster.patch("podtemplates", "p", patch, STRATEGIC_PATCH)

    assert patched["metadata"]["finalizers"] == ["d.e/f"]
    assert [each["name"] for each in patched["template"]["spec"]["containers"]] == ["only"]


def test_custom_objects_take_no_strategic_patch(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    cluster.create("widgets", widget())

    with pytest.raises(UnsupportedMediaType) as caught:
        cluster.patch("widgets", "w", {}, STRATEGIC_PATCH)
    assert caught.value.status.message.endswith(
        "accepted media types include: application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml"
    )


def test_a_patch_with_an_older_version_is_a_conflict(cluster: Cluster) -> None:
    created = cluster.create("configmaps", config())
    cluster.patch("configmaps", "a", {"data": {"k": "w"}})

    with pytest.raises(Conflict):
        cluster.patch("configmaps", "a", {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"]}})


@pytest.mark.parametrize(
    ("content_type", "patch", "error", "words"),
    [
        (MERGE_PATCH, [], BadRequest, "cannot unmarshal array into Go value of type map"),
        (STRATEGIC_PATCH, [], BadRequest, "cannot unmarshal array into Go value of type map"),
        (JSON_PATCH, {}, BadRequest, "cannot unmarshal object"),
        (JSON_PATCH, [1], BadRequest, "cannot unmarshal number"),
        (JSON_PATCH, [{"op": "fly", "path": "/a"}], Invalid, "rejected our request"),
        (JSON_PATCH, [{"op": "remove", "path": "/data/none"}], Invalid, "rejected our request"),
        (JSON_PATCH, [{"op": "replace", "path": "", "value": 1}], Invalid, "due to an error in our request"),
        (MERGE_PATCH, {"metadata": {"name": "b"}}, BadRequest, "does not match the name on the URL"),
        (MERGE_PATCH, {"kind": "Secret"}, BadRequest, "cannot be handled as a ConfigMap"),
        (MERGE_PATCH, {"metadata": {"labels": {"a": "b c"}}}, Invalid, "metadata.labels"),
        ("application/json", {}, UnsupportedMediaType, "unknown format"),
    ],
)
def test_a_patch_that_cannot_be_carried_out_is_refused(
    cluster: Cluster, content_type: str, patch: Any, error: type[APIError], words: str
) -> None:
    created = cluster.create("configmaps", config())

    with pytest.raises(error, match=words):
        cluster.patch("configmaps", "a", patch, content_type)
    assert cluster.get("configmaps", "a") == created


def test_a_patch_does_not_create(cluster: Cluster) -> None:
    with pytest.raises(NotFound):
        cluster.patch("configmaps", "a", {})
