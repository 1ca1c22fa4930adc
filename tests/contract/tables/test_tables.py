"""Answers in the form of tables, as kubectl prints them: heads, rows, what rows carry, chunks and watches."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, pod, service, structural, version, workload

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPT = f"{TABLE},application/json"
STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.fixture
async def three(cluster: Cluster) -> Cluster:
    for name in "abc":
        await cluster.create("configmaps", config(name))
    return cluster


async def table(cluster: Cluster, resource: str, name: str = "", **params: str) -> JSONObject:
    path = cluster.path(resource, name)
    return await cluster.ask("GET", path, params=params, headers={"Accept": ACCEPT})


def columns(found: JSONObject) -> list[str]:
    return [column["name"] for column in found["columnDefinitions"]]


def cells(found: JSONObject) -> list[list[Any]]:
    """The cells of each row, without those that tell ages."""
    ages = {index for index, name in enumerate(columns(found)) if name == "Age"} if found["columnDefinitions"] else {2}
    return [[cell for index, cell in enumerate(row["cells"]) if index not in ages] for row in found["rows"]]


async def test_a_list_is_a_table_of_the_same_version(three: Cluster) -> None:
    found, listed = await table(three, "configmaps"), await three.list_of("configmaps")

    assert list(found) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert set(found["metadata"]) == {"resourceVersion"}
    assert int(found["metadata"]["resourceVersion"]) <= int(listed["metadata"]["resourceVersion"])
    assert columns(found) == ["Name", "Data", "Age"]
    assert cells(found) == [["a", 1], ["b", 1], ["c", 1]]


async def test_an_empty_list_has_columns_and_no_rows(cluster: Cluster) -> None:
    found = await table(cluster, "pods")

    assert columns(found)[:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert found["rows"] == []


async def test_a_column_tells_its_type_and_who_has_room_for_it(cluster: Cluster) -> None:
    name, *_, age = (await table(cluster, "configmaps"))["columnDefinitions"]

    assert (name["type"], name["format"], name["priority"]) == ("string", "name", 0)
    assert (age["type"], age["format"], age["priority"]) == ("string", "", 0)
    assert name["description"]
    assert age["description"]


async def test_a_single_object_is_a_table_of_one_row(three: Cluster) -> None:
    stored = await three.get("configmaps", "b")

    found = await table(three, "configmaps", "b")

    assert found["metadata"] == {"resourceVersion": stored["metadata"]["resourceVersion"]}
    assert cells(found) == [["b", 1]]


async def test_rows_carry_the_metadata_unless_told_otherwise(three: Cluster) -> None:
    stored = await three.get("configmaps", "a")

    (default,) = (await table(three, "configmaps", "a"))["rows"]
    (metadata,) = (await table(three, "configmaps", "a", includeObject="Metadata"))["rows"]
    (whole,) = (await table(three, "configmaps", "a", includeObject="Object"))["rows"]
    (none,) = (await table(three, "configmaps", "a", includeObject="None"))["rows"]

    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": stored["metadata"]}
    assert default["object"] == metadata["object"] == partial
    assert whole["object"] == stored
    assert none["object"] is None


async def test_what_rows_cannot_carry_is_refused(three: Cluster) -> None:
    with pytest.raises(APIError) as caught:
        await table(three, "configmaps", includeObject="Foo")

    assert caught.value.code == 400
    assert caught.value.status.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Foo": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


async def test_chunks_of_a_table_add_up(three: Cluster) -> None:
    first = await table(three, "configmaps", limit="2")
    second = await table(three, "configmaps", limit="2", **{"continue": first["metadata"]["continue"]})

    assert first["metadata"]["remainingItemCount"] == 1
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]
    assert [row[0] for row in cells(first) + cells(second)] == ["a", "b", "c"]


async def test_selectors_apply_to_tables_too(three: Cluster) -> None:
    assert cells(await table(three, "configmaps", fieldSelector="metadata.name=b")) == [["b", 1]]
    assert cells(await table(three, "configmaps", labelSelector="none=such")) == []


async def test_the_rows_of_workloads_tell_how_far_they_are(cluster: Cluster) -> None:
    await cluster.create("pods", pod())
    await cluster.create("deployments", workload(replicas=2))
    await cluster.create("services", service(type="NodePort"))

    assert cells(await table(cluster, "pods"))[0][:3] == ["p", "0/1", "Pending"]
    assert cells(await table(cluster, "deployments"))[0][:4] == ["d", "0/2", 0, 0]
    assert cells(await table(cluster, "services"))[0][:2] == ["s", "NodePort"]


@pytest.mark.since("1.22", "Scales had no rows")
async def test_a_scale_has_rows_of_its_own(cluster: Cluster) -> None:
    await cluster.create("deployments", workload(replicas=3))

    found = await table(cluster, "deployments/scale", "d")

    assert columns(found) == ["Name", "Desired", "Available", "Age"]
    assert cells(found) == [["d", 3, 0]]


async def test_what_is_written_can_be_answered_as_a_table(cluster: Cluster) -> None:
    headers = {"Accept": ACCEPT}

    created = await cluster.create("configmaps", config(), headers=headers)
    patched = await cluster.patch("configmaps", "a", {"data": {"x": "y"}}, headers=headers)
    dry = await cluster.create("configmaps", config("b"), headers=headers, params={"dryRun": "All"})

    assert [cells(found) for found in (created, patched, dry)] == [[["a", 1]], [["a", 2]], [["b", 1]]]
    assert dry["metadata"] == {}, "what is not stored has no version"


async def test_a_delete_answers_with_its_status_in_spite_of_the_form(three: Cluster) -> None:
    deleted = await three.delete("configmaps", "a", headers={"Accept": ACCEPT})

    assert (deleted["kind"], deleted["status"]) == ("Status", "Success")


async def test_a_review_has_no_rows(cluster: Cluster) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = cluster.path("selfsubjectaccessreviews")

    only_table = await cluster.call("POST", path, body=body, headers={"Accept": TABLE})
    or_json = await cluster.call("POST", path, body=body, headers={"Accept": ACCEPT})

    assert (only_table.code, only_table.body["reason"]) == (406, "NotAcceptable")
    assert (or_json.code, or_json.body["kind"]) == (201, "SelfSubjectAccessReview")


async def test_what_is_not_there_is_a_status_in_any_form(cluster: Cluster) -> None:
    answer = await cluster.call("GET", cluster.path("pods", "none"), headers={"Accept": TABLE})

    assert (answer.code, answer.body["kind"], answer.body["reason"]) == (404, "Status", "NotFound")


async def test_only_the_first_event_of_a_watch_has_columns(three: Cluster) -> None:
    start = (await three.get("configmaps", "a"))["metadata"]["resourceVersion"]
    params = {"watch": "1", "resourceVersion": start, "includeObject": "None"}

    async with three.stream(three.path("configmaps"), params, accept=TABLE) as events:
        await three.delete("configmaps", "c")
        shown = await events.take(3)

    assert [event["type"] for event in shown] == ["ADDED", "ADDED", "DELETED"]
    assert [cells(event["object"]) for event in shown] == [[["b", 1]], [["c", 1]], [["c", 1]]]
    assert [bool(event["object"]["columnDefinitions"]) for event in shown] == [True, False, False]


@pytest.mark.since("1.34", "servers did not stream lists unless told to")
async def test_the_end_of_the_initial_events_is_marked_in_the_row_of_a_bookmark(three: Cluster) -> None:
    params = {"watch": "1", "includeObject": "None", "fieldSelector": "metadata.name=a", **STREAMING}

    async with three.stream(three.path("configmaps"), params, accept=TABLE) as events:
        _, bookmark = await events.take(2)

    (row,) = bookmark["object"]["rows"]
    assert (bookmark["type"], row["cells"]) == ("BOOKMARK", ["", 0, "<unknown>"])
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_error_in_a_watch_is_a_plain_status(cluster: Cluster) -> None:
    await cluster.define()
    params = {"watch": "1", "resourceVersion": "1"}

    async with cluster.stream(cluster.path("widgets"), params, accept=TABLE) as events:
        (error,) = await events.rest()

    assert (error["type"], error["object"]["kind"], error["object"]["code"]) == ("ERROR", "Status", 410)


async def test_custom_resources_have_the_columns_of_their_definition(cluster: Cluster) -> None:
    printed = [
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "description": "Which it has."},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    schema = structural(color={"type": "string"}, size={"type": "integer"})
    await cluster.define(cluster.definition(versions=[version(schema=schema, additionalPrinterColumns=printed)]))
    await cluster.create("widgets", cluster.widget("a", spec={"color": "red", "size": 3}))
    await cluster.create("widgets", cluster.widget("b"))

    found = await table(cluster, "widgets")

    assert columns(found) == ["Name", "Color", "Size", "Born"]
    assert [column["priority"] for column in found["columnDefinitions"]] == [0, 0, 1, 0]
    assert found["columnDefinitions"][1]["description"] == "Which it has."
    assert [row["cells"][:3] for row in found["rows"]] == [["a", "red", 3], ["b", None, None]]


async def test_custom_resources_without_columns_have_a_name_and_an_age(cluster: Cluster) -> None:
    await cluster.define()
    await cluster.create("widgets", cluster.widget())

    found = await table(cluster, "widgets")

    assert columns(found) == ["Name", "Age"]
    assert cells(found) == [["w"]]
