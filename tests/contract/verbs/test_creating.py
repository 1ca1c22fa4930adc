"""Create: what the server adds, and what it refuses."""

from __future__ import annotations

import pytest

from dynkube.errors import AlreadyExists
from tests.contract.cluster import Cluster, seen
from tests.contract.objects import config


async def test_a_created_object_gets_its_identity(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())

    metadata = created["metadata"]
    assert {"uid", "resourceVersion", "creationTimestamp", "managedFields"} <= set(metadata)
    assert (metadata["name"], metadata["namespace"]) == ("a", cluster.namespace)


async def test_a_name_is_taken_once(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(AlreadyExists) as caught:
        await cluster.create("configmaps", config())
    assert caught.value.status.message == 'configmaps "a" already exists'


async def test_widgets(cluster: Cluster) -> None:
    await cluster.define()
    async with cluster.watch("widgets") as events:
        await cluster.create("widgets", cluster.widget())
        await cluster.create("widgets", cluster.widget("x"))
        assert seen(await events.until("x")) == [("ADDED", "w"), ("ADDED", "x")]
