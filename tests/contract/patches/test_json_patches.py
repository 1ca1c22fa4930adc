"""JSON patches (RFC 6902), including those that kube-apiserver accepts against the RFC."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import APIError, BadRequest, Invalid
from tests.contract.cluster import JSON, Cluster
from tests.contract.objects import JSONObject, config, pod

FIXED = pytest.mark.since("1.25", "older servers crash")
DATA = {"a": "1", "b": "2"}
ARGS = "/template/spec/containers/0/args"


@pytest.fixture
async def stored(cluster: Cluster) -> JSONObject:
    return await cluster.create("configmaps", {**config(), "data": DATA})


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ([], DATA),
        ([{"op": "add", "path": "/data/c", "value": "3"}], {**DATA, "c": "3"}),
        ([{"op": "add", "path": "/data/a", "value": "3"}], {**DATA, "a": "3"}),
        ([{"op": "add", "path": "/data", "value": {"c": "3"}}], {"c": "3"}),
        ([{"op": "remove", "path": "/data/a"}], {"b": "2"}),
        ([{"op": "replace", "path": "/data/a", "value": "3"}], {**DATA, "a": "3"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/c"}], {"b": "2", "c": "1"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/c"}], {**DATA, "c": "1"}),
        ([{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}], {"b": "2"}),
        ([{"op": "test", "path": "/data", "value": {"b": "2", "a": "1"}}], DATA),
        (
            [
                {"op": "add", "path": "/data/x~1y", "value": "3"},
                {"op": "move", "from": "/data/x~1y", "path": "/data/c"},
            ],
            {**DATA, "c": "3"},
        ),
        # In the RFC a missing member is an error; here it reads as null.
        ([{"op": "replace", "path": "/data/c", "value": "3"}], {**DATA, "c": "3"}),
        ([{"op": "test", "path": "/data/c", "value": None}], DATA),
        pytest.param([{"op": "test", "path": "/data/c"}], DATA, marks=FIXED),
        ([{"op": "copy", "from": "/data/z", "path": "/data/c"}], {**DATA, "c": ""}),
        ([{"op": "add", "path": "/data/c"}], {**DATA, "c": ""}),
    ],
)
async def test_operations_are_applied_in_order(
    cluster: Cluster, stored: JSONObject, operations: list[JSONObject], data: dict[str, str]
) -> None:
    patched = await cluster.patch("configmaps", "a", operations, JSON)

    assert patched["data"] == data


@pytest.mark.parametrize(
    ("operation", "args"),
    [
        ({"op": "add", "path": f"{ARGS}/-", "value": "d"}, "abcd"),
        ({"op": "add", "path": f"{ARGS}/0", "value": "d"}, "dabc"),
        ({"op": "add", "path": f"{ARGS}/3", "value": "d"}, "abcd"),
        ({"op": "add", "path": f"{ARGS}/-1", "value": "d"}, "abcd"),
        pytest.param({"op": "replace", "path": f"{ARGS}/-1", "value": "d"}, "abd", marks=FIXED),
        ({"op": "remove", "path": f"{ARGS}/1"}, "ac"),
        ({"op": "move", "from": f"{ARGS}/0", "path": f"{ARGS}/2"}, "bca"),
        pytest.param({"op": "copy", "from": f"{ARGS}/-1", "path": f"{ARGS}/0"}, "cabc", marks=FIXED),
        ({"op": "test", "path": f"{ARGS}/2", "value": "c"}, "abc"),
    ],
)
async def test_lists_are_indexed_from_either_end(cluster: Cluster, operation: JSONObject, args: str) -> None:
    spec = pod()["spec"]
    spec["containers"][0]["args"] = ["a", "b", "c"]
    await cluster.create("podtemplates", {"metadata": {"name": "p"}, "template": {"spec": spec}})

    patched = await cluster.patch("podtemplates", "p", [operation], JSON)

    assert "".join(patched["template"]["spec"]["containers"][0]["args"]) == args


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "test", "path": "/data/c", "value": "2"},
        {"op": "test", "path": "/metadata/labels/a", "value": None},
        {"op": "remove", "path": "/data/c"},
        {"op": "move", "from": "/data/c", "path": "/data/d"},
        {"op": "move", "path": "/data/d"},
        {"op": "copy", "path": "/data/d"},
        {"op": "add", "path": "/metadata/labels/a", "value": "b"},
        {"op": "add", "path": "data", "value": {}},
        {"op": "add", "value": {}},
        {"op": "replace", "path": "", "value": 1},
        {"op": "fly", "path": "/data"},
        {"path": "/data"},
    ],
)
async def test_an_operation_that_fails_is_a_422_without_causes(
    cluster: Cluster, stored: JSONObject, operation: JSONObject
) -> None:
    changing = {"op": "replace", "path": "/data/b", "value": "changed"}

    with pytest.raises(Invalid) as caught:
        await cluster.patch("configmaps", "a", [changing, operation], JSON)

    assert caught.value.status.message == "the server rejected our request due to an error in our request"
    assert caught.value.causes == ()
    assert await cluster.get("configmaps", "a") == stored


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, r"error decoding patch: json: cannot unmarshal object into Go value of type \[\]handlers\.jsonPatchOp"),
        ([1], "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1, "path": "/a"}], r"cannot unmarshal number into Go struct field jsonPatchOp\.op of type string"),
        ("[", "error decoding patch: .*unexpected end of JSON input"),
    ],
)
@pytest.mark.since("1.25", "the operations were not validated")
async def test_a_body_that_is_not_a_list_of_operations_is_a_400(
    cluster: Cluster, stored: JSONObject, patch: Any, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        await cluster.patch("configmaps", "a", patch, JSON)


async def test_a_patch_can_have_ten_thousand_operations(cluster: Cluster, stored: JSONObject) -> None:
    operation = {"op": "add", "path": "/data/a", "value": "9"}
    assert (await cluster.patch("configmaps", "a", [operation] * 10_000, JSON))["data"]["a"] == "9"

    with pytest.raises(APIError) as caught:
        await cluster.patch("configmaps", "a", [operation] * 10_001, JSON)
    assert caught.value.status.code == 413
    expected = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert caught.value.status.message == expected


@pytest.mark.since("1.25", "field validation came with 1.25")
async def test_an_unknown_member_of_an_operation_causes_a_warning(cluster: Cluster, stored: JSONObject) -> None:
    operation = {"op": "add", "path": "/data/a", "value": "9", "note": "x"}
    path = cluster.path("configmaps", "a")

    response = await cluster.call("PATCH", path, body=[operation], content_type=JSON)

    assert response.warnings == ['json patch unknown field "[0].note"']


async def test_copies_can_add_three_megabytes_in_total(cluster: Cluster, stored: JSONObject) -> None:
    adding = {"op": "add", "path": "/data/a", "value": "x" * 100_000}  # 100,002 bytes with its quotes
    copying = {"op": "copy", "from": "/data/a", "path": "/data/b"}
    assert (await cluster.patch("configmaps", "a", [adding, *[copying] * 31], JSON))["data"]["b"] == "x" * 100_000

    with pytest.raises(Invalid, match="the server rejected our request due to an error in our request"):
        await cluster.patch("configmaps", "a", [adding, *[copying] * 32], JSON)


async def test_html_characters_count_as_the_escapes_that_go_writes(cluster: Cluster, stored: JSONObject) -> None:
    adding = {"op": "add", "path": "/data/a", "value": "<" * 100_000}  # 600,002 bytes
    copying = {"op": "copy", "from": "/data/a", "path": "/data/b"}
    assert (await cluster.patch("configmaps", "a", [adding, *[copying] * 5], JSON))["data"]["b"] == "<" * 100_000

    with pytest.raises(Invalid):
        await cluster.patch("configmaps", "a", [adding, *[copying] * 6], JSON)


async def test_repeatedly_copying_annotations_into_themselves_is_an_error(cluster: Cluster, stored: JSONObject) -> None:
    place = "/metadata/annotations"
    copies = [{"op": "copy", "from": place, "path": f"{place}/c{number}"} for number in range(25)]

    with pytest.raises(Invalid):
        await cluster.patch("configmaps", "a", [{"op": "add", "path": place, "value": {"a": "x"}}, *copies], JSON)
    assert await cluster.get("configmaps", "a") == stored
