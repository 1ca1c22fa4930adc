"""Namespaces: the label with their name, those that cannot be deleted, and objects in a terminating one."""

from __future__ import annotations

import pytest

from dynkube.errors import Forbidden
from tests.contract.cluster import Cluster
from tests.contract.objects import config


@pytest.mark.since("1.21", "namespaces did not get a label")
async def test_a_namespace_has_a_label_with_its_name(cluster: Cluster) -> None:
    found = await cluster.get("namespaces", cluster.namespace)

    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": cluster.namespace}


async def test_objects_in_a_terminating_namespace_can_be_changed_and_deleted(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=["example.com/hold"]))
    await cluster.delete("namespaces", cluster.namespace)

    written = await cluster.patch("configmaps", "a", {"data": {"k": "w"}})
    await cluster.delete("configmaps", "a")
    released = await cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}})

    assert (written["data"], released["data"]) == ({"k": "w"}, {"k": "w"})
    assert await cluster.names("configmaps") == []


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_system_namespaces_cannot_be_deleted(cluster: Cluster, name: str) -> None:
    with pytest.raises(Forbidden) as caught:
        await cluster.delete("namespaces", name, params={"dryRun": "All"})

    assert caught.value.status.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
