"""JSON merge patches (RFC 7386), and the errors of all types of patches."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError, BadRequest, Conflict, InternalError, Invalid, NotFound, UnsupportedMediaType
from tests.contract.cluster import JSON, MERGE, STRATEGIC, Cluster
from tests.contract.objects import config, version

READ_FIRST = pytest.mark.since("1.25", "patches were not validated before they were applied")


async def test_a_merge_patch_merges_objects_replaces_other_values_and_deletes_by_null(cluster: Cluster) -> None:
    await cluster.create("configmaps", {**config(), "data": {"a": "1", "b": "2"}})

    patched = await cluster.patch(
        "configmaps", "a", {"data": {"a": None, "c": "3"}, "metadata": {"labels": {"x": "y"}}}
    )

    assert patched["data"] == {"b": "2", "c": "3"}
    assert patched["metadata"]["labels"] == {"x": "y"}


@pytest.mark.parametrize("patch", [{}, {"data": {"k": "v"}}, {"metadata": {"creationTimestamp": None}}])
async def test_a_patch_that_changes_nothing_writes_nothing(cluster: Cluster, patch: Any) -> None:
    created = await cluster.create("configmaps", config())

    assert await cluster.patch("configmaps", "a", patch, params={"fieldManager": "other"}) == created


async def test_a_dry_run_of_a_patch_does_not_change_the_object(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())

    response = await cluster.patch("configmaps", "a", {"data": {"k": "w"}}, params={"dryRun": "All"})

    assert response["data"] == {"k": "w"}
    assert response["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert await cluster.get("configmaps", "a") == created


async def test_the_charset_in_the_content_type_is_ignored(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    patched = await cluster.patch("configmaps", "a", {"data": {"k": "w"}}, f"{MERGE}; charset=utf-8")

    assert patched["data"] == {"k": "w"}


async def test_a_patch_with_an_older_version_is_a_conflict(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())
    first = created["metadata"]["resourceVersion"]
    await cluster.patch("configmaps", "a", {"data": {"k": "w"}, "metadata": {"resourceVersion": first}})

    with pytest.raises(Conflict, match="the object has been modified"):
        await cluster.patch("configmaps", "a", {"metadata": {"resourceVersion": first}})


@pytest.mark.parametrize("given", ["0", None])
async def test_a_patch_without_a_resource_version_has_no_precondition(cluster: Cluster, given: str | None) -> None:
    await cluster.create("configmaps", config())

    patched = await cluster.patch("configmaps", "a", {"data": {"k": "w"}, "metadata": {"resourceVersion": given}})

    assert patched["data"] == {"k": "w"}


@pytest.mark.parametrize(
    ("content_type", "patch", "error", "message"),
    [
        pytest.param(MERGE, [], BadRequest, "cannot unmarshal array into Go value of type map", marks=READ_FIRST),
        (STRATEGIC, [], BadRequest, "cannot unmarshal array into Go value of type map"),
        pytest.param(MERGE, "null", BadRequest, "Invalid JSON Patch", marks=READ_FIRST),
        (MERGE, {"metadata": {"name": "b"}}, BadRequest, "does not match the name on the URL"),
        (MERGE, {"metadata": {"name": None}}, BadRequest, "was undeterminable: name must be provided"),
        (MERGE, {"apiVersion": None}, BadRequest, "was undeterminable: name must be provided"),
        (MERGE, {"apiVersion": ""}, BadRequest, "was undeterminable: name must be provided"),
        (JSON, [{"op": "remove", "path": "/apiVersion"}], BadRequest, "was undeterminable: name must be provided"),
        (MERGE, {"metadata": {"namespace": "b"}}, BadRequest, "does not match the namespace"),
        (MERGE, {"metadata": {"uid": "x"}}, Invalid, 'metadata.uid: Invalid value: "x": field is immutable'),
        (MERGE, {"kind": "Pod"}, Invalid, "unknown conversion"),
        (MERGE, {"apiVersion": "v2"}, Invalid, 'no kind "ConfigMap" is registered for version "v2"'),
        (MERGE, {"metadata": {"labels": {"a": "b c"}}}, Invalid, "metadata.labels"),
        (MERGE, {"metadata": {"resourceVersion": "latest"}}, APIError, 'parsing "latest": invalid syntax'),
        (JSON, [{"op": "replace", "path": "/data/k", "value": 1}], Invalid, "patch: Invalid value"),
        ("application/json", {}, UnsupportedMediaType, "415: Unsupported Media Type"),
    ],
)
async def test_an_invalid_patch_is_an_error(
    cluster: Cluster, content_type: str, patch: Any, error: type[APIError], message: str
) -> None:
    created = await cluster.create("configmaps", config())

    with pytest.raises(error, match=message):
        await cluster.patch("configmaps", "a", patch, content_type)
    assert await cluster.get("configmaps", "a") == created


@pytest.mark.parametrize(("content_type", "patch"), [(MERGE, {"kind": None}), (STRATEGIC, {"apiVersion": None})])
async def test_a_patch_can_remove_kind_and_api_version(
    cluster: Cluster, content_type: str, patch: dict[str, None]
) -> None:
    await cluster.create("configmaps", config())

    patched = await cluster.patch("configmaps", "a", {**patch, "data": {"k": "w"}}, content_type)

    assert (patched["apiVersion"], patched["kind"], patched["data"]) == ("v1", "ConfigMap", {"k": "w"})


async def test_a_patch_cannot_remove_the_api_version_of_a_custom_resource(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())

    with pytest.raises(InternalError, match="Object 'apiVersion' is missing"):
        await cluster.patch("widgets", "w", {"apiVersion": None})


async def test_a_patch_does_not_create(cluster: Cluster) -> None:
    with pytest.raises(NotFound) as caught:
        await cluster.patch("configmaps", "a", {})

    assert caught.value.status.message == 'configmaps "a" not found'


async def test_a_missing_object_is_a_404_even_if_the_patch_is_malformed(cluster: Cluster) -> None:
    with pytest.raises(NotFound):
        await cluster.patch("configmaps", "a", "{")


async def test_a_strategic_patch_of_a_custom_resource_is_a_415(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())

    with pytest.raises(UnsupportedMediaType) as caught:
        await cluster.patch("widgets", "w", {}, STRATEGIC)
    assert caught.value.status.message.endswith(
        "accepted media types include: application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml"
    )


async def test_a_patch_of_the_status_changes_only_the_status(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}})]))
    await cluster.create("widgets", cluster.widget(spec={"a": 1}))

    patch = {"status": {"ready": True}, "spec": {"a": 2}, "metadata": {"labels": {"a": "b"}}}
    patched = await cluster.patch("widgets/status", "w", patch)

    assert (patched["status"], patched["spec"]) == ({"ready": True}, {"a": 1})
    assert "labels" not in patched["metadata"]


@pytest.mark.parametrize(("value", "given"), [([], "array"), ({}, "object"), (1, "number")], ids=repr)
async def test_an_api_version_that_is_not_a_string_is_a_422(cluster: Cluster, value: Any, given: str) -> None:
    await cluster.create("configmaps", config())

    problem = f"cannot unmarshal {given} into Go struct field .apiVersion of type string"
    with pytest.raises(Invalid, match=rf"couldn't get version/kind; json parse error: json: {problem}"):
        await cluster.patch("configmaps", "a", {"apiVersion": value, "kind": "ConfigMap"})
