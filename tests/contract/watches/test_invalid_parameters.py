"""Watches with invalid parameters, whose response is an error."""

from __future__ import annotations

import pytest

from dynkube.errors import APIError
from tests.contract.cluster import Cluster

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


@pytest.mark.parametrize(
    ("params", "causes"),
    [
        ({"sendInitialEvents": "true"}, ["Forbidden: sendInitialEvents requires setting {match} to NotOlderThan"]),
        (
            {**STREAMING, "resourceVersionMatch": "Exact"},
            [
                "Forbidden: sendInitialEvents requires setting {match} to NotOlderThan",
                'Unsupported value: "Exact": supported values: "NotOlderThan"',
            ],
        ),
        (
            {"resourceVersionMatch": "NotOlderThan"},
            ["Forbidden: {match} is forbidden for watch unless sendInitialEvents is provided"],
        ),
        ({"continue": "x"}, ["Forbidden: {match} is forbidden when continue is provided"]),
    ],
)
@pytest.mark.since("1.34", "streaming lists were disabled by default")
async def test_contradictory_parameters_are_a_422(cluster: Cluster, params: dict[str, str], causes: list[str]) -> None:
    response = await cluster.call("GET", cluster.path("configmaps"), params={"watch": "1", **params})

    assert (response.code, response.body["reason"]) == (422, "Invalid")
    assert [cause["message"] for cause in response.body["details"]["causes"]] == [
        cause.format(match="resourceVersionMatch") for cause in causes
    ]
    assert {cause["field"] for cause in response.body["details"]["causes"]} == {"resourceVersionMatch"}


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"resourceVersion": "x"}, 500, 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid'),
        ({"resourceVersion": "-1"}, 500, 'resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": inv'),
        ({"timeoutSeconds": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"limit": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"labelSelector": "a in"}, 400, "unable to parse requirement: found '' expected: '('"),
        ({"fieldSelector": "spec.x=a"}, 400, '"spec.x" is not a known field selector'),
    ],
)
async def test_parameters_that_cannot_be_parsed_are_an_error_response(
    cluster: Cluster, params: dict[str, str], code: int, message: str
) -> None:
    with pytest.raises(APIError) as caught:
        async with cluster.watch("configmaps", **params):
            raise AssertionError("the watch was opened")

    assert caught.value.code == code
    assert caught.value.status.message.startswith(message)


@pytest.mark.parametrize("value", ["0", "false", "False"])
async def test_watch_false_is_a_list(cluster: Cluster, value: str) -> None:
    found = await cluster.list_of("configmaps", watch=value)

    assert found["kind"] == "ConfigMapList"
