"""Unusual requests that succeed, and a patch that is too long."""

from __future__ import annotations

import json

import pytest

from dynkube.errors import APIError
from tests.contract.cluster import JSON, Cluster
from tests.contract.objects import config


async def test_invalid_utf8_becomes_replacement_characters(cluster: Cluster) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"x": "\xff"}}'

    created = await cluster.create("configmaps", body)

    assert created["data"] == {"x": "\ufffd"}


@pytest.mark.parametrize("query", ["limit=1&limit=x", "labelSelector=%zz", "limit=1;2"])
async def test_malformed_parameters_and_repeated_ones_after_the_first_are_ignored(cluster: Cluster, query: str) -> None:
    await cluster.create("configmaps", config())

    response = await cluster.call("GET", f"{cluster.path('configmaps')}?{query}")

    assert response.code == 200


async def test_a_json_patch_with_more_than_ten_thousand_operations_is_a_413(cluster: Cluster) -> None:
    operation = {"op": "test", "path": "/metadata/name", "value": "a"}
    await cluster.create("configmaps", config())

    with pytest.raises(APIError) as caught:
        await cluster.patch("configmaps", "a", json.dumps([operation] * 10_001), JSON)

    status = caught.value.status
    assert (status.code, status.reason) == (413, "RequestEntityTooLarge")
    assert status.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


@pytest.mark.since("1.36", "the create of 1.20 takes longer than the client's timeout")
async def test_objects_can_be_nested_280_levels_deep(cluster: Cluster) -> None:
    nested: object = 1
    for _ in range(280):
        nested = {"a": nested}
    await cluster.create_crd()

    created = await cluster.create("widgets", cluster.widget(spec=nested))
    patched = await cluster.patch("widgets", "w", {"metadata": {"labels": {"is": "deep"}}})
    applied = await cluster.apply("widgets", cluster.widget(spec=nested), "tester", force=True)

    assert created["spec"] == patched["spec"] == applied["spec"] == nested
