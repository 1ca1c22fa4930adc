"""Custom resources with the names of built-in ones behave like any custom resource."""

from __future__ import annotations

from tests.contract.cluster import Cluster
from tests.contract.objects import version


async def _serve(cluster: Cluster, plural: str, kind: str) -> None:
    """Serve a custom resource with a status subresource; ``plural`` then means it instead of the built-in resource."""
    await cluster.create_crd(cluster.crd(plural, kind, versions=[version(subresources={"status": {}})]))


async def test_a_node_of_another_group_is_created_without_its_status(cluster: Cluster) -> None:
    await _serve(cluster, "nodes", "Node")

    created = await cluster.create("nodes", cluster.widget("a", kind="Node", status={"ready": True}))

    assert "status" not in created


async def test_annotations_of_a_deployment_of_another_group_do_not_increase_its_generation(cluster: Cluster) -> None:
    await _serve(cluster, "deployments", "Deployment")
    created = await cluster.create("deployments", cluster.widget("a", kind="Deployment"))

    created["metadata"]["annotations"] = {"a": "b"}
    updated = await cluster.update("deployments", created)

    assert updated["metadata"]["generation"] == 1
