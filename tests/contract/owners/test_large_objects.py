"""Objects with so many fields that ``managedFields`` would exceed the size limit of etcd."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import config, owners
from tests.contract.owners.kit import applied

# Half a million bytes of names, and as much again in managedFields.
MANY = {f"{'k' * 70}{number}": "v" for number in range(11_000)}
TOO_LARGE = "etcdserver: request is too large"


@pytest.mark.parametrize("verb", ["create", "update", "patch"])
async def test_a_write_drops_managed_fields_instead_of_failing(cluster: Cluster, verb: str) -> None:
    body, params = {**config(), "data": MANY}, {"fieldManager": "me"}
    if verb != "create":
        await cluster.apply("configmaps", config(), "one")

    if verb == "create":
        obj = await cluster.create("configmaps", body, params=params)
    elif verb == "update":
        obj = await cluster.update("configmaps", body, params=params)
    else:
        obj = await cluster.patch("configmaps", "a", {"data": MANY}, params=params)

    assert MANY.keys() <= obj["data"].keys()
    assert owners(obj) == {}


async def test_an_apply_is_an_error(cluster: Cluster) -> None:
    code, error = await applied(cluster, "configmaps", {**config(), "data": MANY}, "me")

    assert (code, error["message"]) == (500, TOO_LARGE)


async def test_an_apply_that_adds_before_first_apply_is_an_error(cluster: Cluster) -> None:
    await cluster.create("configmaps", {**config(), "data": MANY})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"a": "b"}}}

    code, error = await applied(cluster, "configmaps", body, "me")

    assert (code, error["message"]) == (500, TOO_LARGE)
