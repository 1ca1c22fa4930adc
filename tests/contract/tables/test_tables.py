"""Responses in the form of tables, as kubectl requests them: columns, rows, objects in rows, and chunks."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError
from tests.contract.cluster import TABLE, Cluster
from tests.contract.objects import JSONObject, config, pod, service, workload

ACCEPT = f"{TABLE},application/json"


@pytest.fixture
async def three(cluster: Cluster) -> Cluster:
    for name in "abc":
        await cluster.create("configmaps", config(name))
    return cluster


async def table(cluster: Cluster, resource: str, name: str = "", **params: str) -> JSONObject:
    path = cluster.path(resource, name)
    return await cluster.request("GET", path, params=params, headers={"Accept": ACCEPT})


def columns(found: JSONObject) -> list[str]:
    return [column["name"] for column in found["columnDefinitions"]]


def cells(found: JSONObject) -> list[list[Any]]:
    """Return the cells of each row without ages."""
    ages = {index for index, name in enumerate(columns(found)) if name == "Age"}
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


async def test_a_column_has_type_format_priority_and_description(cluster: Cluster) -> None:
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


async def test_include_object_selects_the_objects_in_rows(three: Cluster) -> None:
    stored = await three.get("configmaps", "a")

    (default,) = (await table(three, "configmaps", "a"))["rows"]
    (metadata,) = (await table(three, "configmaps", "a", includeObject="Metadata"))["rows"]
    (row,) = (await table(three, "configmaps", "a", includeObject="Object"))["rows"]
    (none,) = (await table(three, "configmaps", "a", includeObject="None"))["rows"]

    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": stored["metadata"]}
    assert default["object"] == metadata["object"] == partial
    assert row["object"] == stored
    assert none["object"] is None


async def test_an_invalid_include_object_is_a_400(three: Cluster) -> None:
    with pytest.raises(APIError) as caught:
        await table(three, "configmaps", includeObject="Foo")

    assert caught.value.code == 400
    assert caught.value.status.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Foo": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


async def test_tables_can_be_read_in_chunks(three: Cluster) -> None:
    first = await table(three, "configmaps", limit="2")
    second = await table(three, "configmaps", limit="2", **{"continue": first["metadata"]["continue"]})

    assert first["metadata"]["remainingItemCount"] == 1
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]
    assert [row[0] for row in cells(first) + cells(second)] == ["a", "b", "c"]


async def test_selectors_apply_to_tables(three: Cluster) -> None:
    assert cells(await table(three, "configmaps", fieldSelector="metadata.name=b")) == [["b", 1]]
    assert cells(await table(three, "configmaps", labelSelector="none=such")) == []


async def test_the_rows_of_workloads_show_their_status(cluster: Cluster) -> None:
    await cluster.create("pods", pod())
    await cluster.create("deployments", workload(replicas=2))
    await cluster.create("services", service(type="NodePort"))

    assert cells(await table(cluster, "pods"))[0][:3] == ["p", "0/1", "Pending"]
    assert cells(await table(cluster, "deployments"))[0][:4] == ["d", "0/2", 0, 0]
    assert cells(await table(cluster, "services"))[0][:2] == ["s", "NodePort"]


@pytest.mark.since("1.22", "Scales could not be tables")
async def test_a_scale_has_its_own_columns(cluster: Cluster) -> None:
    await cluster.create("deployments", workload(replicas=3))

    found = await table(cluster, "deployments/scale", "d")

    assert columns(found) == ["Name", "Desired", "Available", "Age"]
    assert cells(found) == [["d", 3, 0]]


async def test_writes_can_return_tables(cluster: Cluster) -> None:
    headers = {"Accept": ACCEPT}

    created = await cluster.create("configmaps", config(), headers=headers)
    patched = await cluster.patch("configmaps", "a", {"data": {"x": "y"}}, headers=headers)
    dry = await cluster.create("configmaps", config("b"), headers=headers, params={"dryRun": "All"})

    assert [cells(found) for found in (created, patched, dry)] == [[["a", 1]], [["a", 2]], [["b", 1]]]
    assert dry["metadata"] == {}, "an object that is not stored has no version"


async def test_a_delete_returns_a_status_even_if_a_table_is_requested(three: Cluster) -> None:
    deleted = await three.delete("configmaps", "a", headers={"Accept": ACCEPT})

    assert (deleted["kind"], deleted["status"]) == ("Status", "Success")


async def test_a_review_as_a_table_is_a_406(cluster: Cluster) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = cluster.path("selfsubjectaccessreviews")

    only_table = await cluster.call("POST", path, body=body, headers={"Accept": TABLE})
    or_json = await cluster.call("POST", path, body=body, headers={"Accept": ACCEPT})

    assert (only_table.code, only_table.body["reason"]) == (406, "NotAcceptable")
    assert (or_json.code, or_json.body["kind"]) == (201, "SelfSubjectAccessReview")


async def test_a_404_is_a_status_even_if_a_table_is_requested(cluster: Cluster) -> None:
    response = await cluster.call("GET", cluster.path("pods", "none"), headers={"Accept": TABLE})

    assert (response.code, response.body["kind"], response.body["reason"]) == (404, "Status", "NotFound")
