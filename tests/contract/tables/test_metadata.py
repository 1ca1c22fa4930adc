"""Responses with only metadata (PartialObjectMetadata), which metadata informers request."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import config

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


def accepting(form: str, version: str = "v1") -> str:
    return f"application/json;as={form};g=meta.k8s.io;v={version}"


ONE, LIST = accepting("PartialObjectMetadata"), accepting("PartialObjectMetadataList")


@pytest.fixture
async def two(cluster: Cluster) -> Cluster:
    for name in "ab":
        metadata = {"labels": {"of": name}, "annotations": {"quote": '"}{'}}
        await cluster.create("configmaps", config(name, **metadata))
    return cluster


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_object_can_be_read_as_its_metadata(two: Cluster, version: str) -> None:
    headers = {"Accept": accepting("PartialObjectMetadata", version)}

    assert await two.get("configmaps", "a", headers=headers) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": (await two.get("configmaps", "a"))["metadata"],
    }


async def test_a_list_of_metadata_can_be_read_in_chunks(two: Cluster) -> None:
    path, headers = two.path("configmaps"), {"Accept": LIST}
    first = await two.request("GET", path, params={"limit": "1"}, headers=headers)
    second = await two.request("GET", path, params={"continue": first["metadata"]["continue"]}, headers=headers)

    assert (first["kind"], first["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    # Old servers drop the count.
    assert first["metadata"].get("remainingItemCount") == (1 if two.version >= (1, 22) else None)
    (item,) = second["items"]
    assert item["kind"] == "PartialObjectMetadata"
    assert item["metadata"] == (await two.get("configmaps", "b"))["metadata"]


async def test_a_watch_can_send_only_metadata(two: Cluster) -> None:
    start = (await two.get("configmaps", "a"))["metadata"]["resourceVersion"]
    params = {"watch": "1", "resourceVersion": start}

    async with two.stream(two.path("configmaps"), params, accept=ONE) as events:
        await two.delete("configmaps", "a")
        shown = await events.take(2)

    assert types_and_names(shown) == [("ADDED", "b"), ("DELETED", "a")]
    assert all(set(event["object"]) == {"kind", "apiVersion", "metadata"} for event in shown)
    assert {event["object"]["kind"] for event in shown} == {"PartialObjectMetadata"}


@pytest.mark.since("1.34", "streaming lists were disabled by default")
async def test_bookmarks_of_a_metadata_watch_are_metadata(two: Cluster) -> None:
    async with two.stream(two.path("configmaps"), {"watch": "1", **STREAMING}, accept=ONE) as events:
        *_, bookmark = await events.take(3)

    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["kind"] == "PartialObjectMetadata"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_patches_and_deletes_can_return_only_metadata(two: Cluster) -> None:
    headers = {"Accept": ONE}
    patch = {"metadata": {"labels": {"new": "1"}, "finalizers": ["example.com/stay"]}}

    patched = await two.patch("configmaps", "a", patch, headers=headers)
    marked = await two.delete("configmaps", "a", headers=headers)
    deleted = await two.delete("configmaps", "b", headers=headers)
    await two.patch("configmaps", "a", {"metadata": {"finalizers": None}})

    assert patched["metadata"]["labels"] == {"of": "a", "new": "1"}
    assert marked["metadata"]["deletionTimestamp"]
    assert {patched["kind"], marked["kind"]} == {"PartialObjectMetadata"}
    assert (deleted["kind"], deleted["status"]) == ("Status", "Success")


async def test_requesting_the_object_form_of_a_list_or_the_list_form_of_an_object_is_a_406(two: Cluster) -> None:
    of_list = await two.call("GET", two.path("configmaps"), headers={"Accept": ONE})
    of_one = await two.call("GET", two.path("configmaps", "a"), headers={"Accept": LIST})
    grouped = await two.call("GET", two.path("roles"), headers={"Accept": ONE})

    assert (of_list.code, of_one.code) == (406, 406)
    assert [response.body["message"] for response in (of_list, of_one, grouped)] == [
        "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
        "you requested PartialObjectMetadata, but the requested object is a list (*rbac.RoleList)",
    ]


async def test_a_custom_resource_can_be_read_as_its_metadata(cluster: Cluster) -> None:
    await cluster.create_crd()
    created = await cluster.create("widgets", cluster.widget())

    found = await cluster.get("widgets", "w", headers={"Accept": ONE})

    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    assert found == {**partial, "metadata": created["metadata"]}
