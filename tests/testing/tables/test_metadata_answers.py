"""Answers with the metadata alone: what metadata informers ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx2
import pytest

from dynkube.testing import APIServer

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def accepting(form: str, version: str = "v1") -> Mapping[str, str]:
    return {"Accept": f"application/json;as={form};g=meta.k8s.io;v={version}"}


ONE, LIST = accepting("PartialObjectMetadata"), accepting("PartialObjectMetadataList")


@pytest.fixture(autouse=True)
def settings(server: APIServer) -> None:
    for name in ("a", "b"):
        metadata = {"name": name, "labels": {"of": name}, "annotations": {"quote": '"}{'}}
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "y"}})


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_object_is_its_metadata(server: APIServer, client: httpx2.AsyncClient, version: str) -> None:
    answer = await client.get(f"{CONFIGMAPS}/a", headers=accepting("PartialObjectMetadata", version))

    assert answer.json() == {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": server.get("configmaps", "a")["metadata"],
    }


async def test_a_list_is_one_of_metadata_and_comes_in_chunks(server: APIServer, client: httpx2.AsyncClient) -> None:
    first = (await client.get(CONFIGMAPS, params={"limit": "1"}, headers=LIST)).json()
    second = (await client.get(CONFIGMAPS, params={"continue": first["metadata"]["continue"]}, headers=LIST)).json()

    assert (first["kind"], first["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert first["metadata"]["remainingItemCount"] == 1
    (item,) = second["items"]
    assert item["kind"] == "PartialObjectMetadata"
    assert item["metadata"] == server.get("configmaps", "b")["metadata"]


async def test_a_watch_is_of_metadata_bookmarks_too(client: httpx2.AsyncClient) -> None:
    params = {
        "watch": "1",
        "timeoutSeconds": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    answer = await client.get(CONFIGMAPS, params=params, headers=ONE)

    events = [json.loads(line) for line in answer.text.splitlines()]
    assert [event["type"] for event in events[:3]] == ["ADDED", "ADDED", "BOOKMARK"]
    assert {event["object"]["kind"] for event in events} == {"PartialObjectMetadata"}
    assert [event["object"]["metadata"].get("name") for event in events[:2]] == ["a", "b"]
    assert all(set(event["object"]) == {"kind", "apiVersion", "metadata"} for event in events)


async def test_patches_and_deletes_answer_so_too(client: httpx2.AsyncClient) -> None:
    patch = {"metadata": {"labels": {"new": "1"}, "finalizers": ["example.com/stay"]}}
    patched = await client.patch(
        f"{CONFIGMAPS}/a", json=patch, headers={**ONE, "Content-Type": "application/merge-patch+json"}
    )
    marked = await client.delete(f"{CONFIGMAPS}/a", headers=ONE)
    deleted = await client.delete(f"{CONFIGMAPS}/b", headers=ONE)

    assert patched.json()["metadata"]["labels"] == {"of": "a", "new": "1"}
    assert marked.json()["metadata"]["deletionTimestamp"]
    assert {patched.json()["kind"], marked.json()["kind"]} == {"PartialObjectMetadata"}
    assert (deleted.json()["kind"], deleted.json()["status"]) == ("Status", "Success")


async def test_neither_form_fits_where_the_other_belongs(client: httpx2.AsyncClient) -> None:
    of_list = await client.get(CONFIGMAPS, headers=ONE)
    of_one = await client.get(f"{CONFIGMAPS}/a", headers=LIST)
    grouped = await client.get("/apis/rbac.authorization.k8s.io/v1/roles", headers=ONE)

    assert (of_list.status_code, of_one.status_code) == (406, 406)
    assert [answer.json()["message"] for answer in (of_list, of_one, grouped)] == [
        "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
        "you requested PartialObjectMetadata, but the requested object is a list (*rbac.RoleList)",
    ]


async def test_a_client_that_would_rather_have_protobuf_gets_json(client: httpx2.AsyncClient) -> None:
    wanted = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    accept = f"application/vnd.kubernetes.protobuf;{wanted},application/json;{wanted},application/json"

    answer = await client.get(f"{CONFIGMAPS}/a", headers={"Accept": accept})

    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["kind"] == "PartialObjectMetadata"


async def test_what_is_not_there_is_a_status_in_any_form(client: httpx2.AsyncClient) -> None:
    answer = await client.get(f"{PODS}/none", headers=ONE)

    assert (answer.status_code, answer.json()["kind"], answer.json()["reason"]) == (404, "Status", "NotFound")
