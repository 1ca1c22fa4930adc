"""Answers in the form of tables: heads, rows, what rows carry, chunks and watches."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import trio

from dynkube.testing import APIServer
from tests.testing.tables.conftest import Clock

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ACCEPT = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


@pytest.fixture(autouse=True)
def settings(server: APIServer) -> None:
    for name in ("a", "b", "c"):
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y"}})


async def table(client: httpx2.AsyncClient, path: str, **params: str) -> dict[str, Any]:
    answer = await client.get(path, params=params, headers=ACCEPT)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def cells(found: dict[str, Any]) -> list[list[object]]:
    return [row["cells"] for row in found["rows"]]


async def test_a_list_is_a_table_of_the_same_revision(server: APIServer, client: httpx2.AsyncClient) -> None:
    found = await table(client, CONFIGMAPS)

    assert list(found) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert found["metadata"] == {"resourceVersion": str(server.revision)}
    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert cells(found) == [["a", 1, "0s"], ["b", 1, "0s"], ["c", 1, "0s"]]


async def test_a_single_object_is_a_table_of_one_row(server: APIServer, client: httpx2.AsyncClient) -> None:
    found = await table(client, f"{CONFIGMAPS}/b")

    stored = server.get("configmaps", "b")
    assert found["metadata"] == {"resourceVersion": stored["metadata"]["resourceVersion"]}
    assert cells(found) == [["b", 1, "0s"]]


async def test_rows_carry_the_metadata_unless_told_otherwise(server: APIServer, client: httpx2.AsyncClient) -> None:
    stored = server.get("configmaps", "a")

    (default,) = (await table(client, f"{CONFIGMAPS}/a"))["rows"]
    (metadata,) = (await table(client, f"{CONFIGMAPS}/a", includeObject="Metadata"))["rows"]
    (whole,) = (await table(client, f"{CONFIGMAPS}/a", includeObject="Object"))["rows"]
    (none,) = (await table(client, f"{CONFIGMAPS}/a", includeObject="None"))["rows"]

    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": stored["metadata"]}
    assert default["object"] == metadata["object"] == partial
    assert whole["object"] == stored
    assert none["object"] is None


async def test_what_rows_cannot_carry_is_refused(client: httpx2.AsyncClient) -> None:
    answer = await client.get(CONFIGMAPS, params={"includeObject": "Foo"}, headers=ACCEPT)

    assert answer.status_code == 400
    assert answer.json()["message"] == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Foo": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


async def test_chunks_of_a_table_add_up(client: httpx2.AsyncClient) -> None:
    first = await table(client, CONFIGMAPS, limit="2")
    second = await table(client, CONFIGMAPS, limit="2", **{"continue": first["metadata"]["continue"]})

    assert first["metadata"]["remainingItemCount"] == 1
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]
    assert [row[0] for row in cells(first) + cells(second)] == ["a", "b", "c"]


async def test_selectors_apply_to_tables_too(client: httpx2.AsyncClient) -> None:
    assert [row[0] for row in cells(await table(client, CONFIGMAPS, fieldSelector="metadata.name=b"))] == ["b"]
    assert cells(await table(client, CONFIGMAPS, labelSelector="none=such")) == []


async def test_ages_are_those_of_the_servers_clock(client: httpx2.AsyncClient, clock: Clock) -> None:
    clock.now += timedelta(days=3, hours=1)

    assert cells(await table(client, f"{CONFIGMAPS}/a")) == [["a", 1, "3d1h"]]


async def test_only_the_first_event_of_a_watch_has_columns(client: httpx2.AsyncClient) -> None:
    params = {"watch": "1", "timeoutSeconds": "5", "includeObject": "None"}
    answer = await client.get(CONFIGMAPS, params=params, headers=ACCEPT)

    events = [json.loads(line) for line in answer.text.splitlines()]
    assert [event["type"] for event in events] == ["ADDED"] * 3
    assert [row for event in events for row in cells(event["object"])] == [
        ["a", 1, "0s"],
        ["b", 1, "0s"],
        ["c", 1, "0s"],
    ]
    assert [event["object"]["columnDefinitions"] is None for event in events] == [False, True, True]


async def test_the_end_of_the_initial_events_is_marked_in_the_row_of_a_bookmark(client: httpx2.AsyncClient) -> None:
    params = {
        "watch": "1",
        "timeoutSeconds": "1",
        "includeObject": "None",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "fieldSelector": "metadata.name=a",
    }
    answer = await client.get(CONFIGMAPS, params=params, headers=ACCEPT)

    bookmark = json.loads(answer.text.splitlines()[1])
    (row,) = bookmark["object"]["rows"]
    assert (bookmark["type"], row["cells"]) == ("BOOKMARK", ["", 0, "<unknown>"])
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_error_in_a_watch_is_a_plain_status(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.compact()
    params = {"watch": "1", "resourceVersion": "1"}
    answer = await client.get(CONFIGMAPS, params=params, headers=ACCEPT)

    event = json.loads(answer.text)
    assert (event["type"], event["object"]["kind"], event["object"]["code"]) == ("ERROR", "Status", 410)


async def test_a_delete_answers_with_its_status_in_spite_of_the_form(client: httpx2.AsyncClient) -> None:
    answer = await client.delete(f"{CONFIGMAPS}/a", headers=ACCEPT)

    assert (answer.status_code, answer.json()["kind"], answer.json()["status"]) == (200, "Status", "Success")


async def test_a_scale_has_columns_of_its_own(server: APIServer, client: httpx2.AsyncClient) -> None:
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    server.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec})

    found = await table(client, "/apis/apps/v1/namespaces/default/replicasets/web/scale")

    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert cells(found) == [["web", 3, 0, "0s"]]


async def test_what_is_not_stored_has_no_revision(client: httpx2.AsyncClient) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}
    answer = await client.post(CONFIGMAPS, params={"dryRun": "All"}, json=body, headers=ACCEPT)

    assert (answer.status_code, answer.json()["metadata"]) == (201, {})
    assert cells(answer.json()) == [["d", 0, "0s"]]


async def test_a_review_has_no_rows(client: httpx2.AsyncClient) -> None:
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    only_table = await client.post(path, json=body, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    or_json = await client.post(path, json=body, headers=ACCEPT)

    assert (only_table.status_code, only_table.json()["reason"]) == (406, "NotAcceptable")
    assert (or_json.status_code, or_json.json()["kind"]) == (201, "SelfSubjectAccessReview")


async def test_a_long_table_lets_others_work_meanwhile(server: APIServer, client: httpx2.AsyncClient) -> None:
    for number in range(300):
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"x{number}"}})
    turns: list[int] = []

    async with trio.open_nursery() as nursery:

        async def work() -> None:
            while True:
                turns.append(1)
                await trio.lowlevel.checkpoint()

        nursery.start_soon(work)
        found = await table(client, CONFIGMAPS, includeObject="None")
        nursery.cancel_scope.cancel()

    assert len(found["rows"]) == 303
    assert len(turns) > 300 // 16
