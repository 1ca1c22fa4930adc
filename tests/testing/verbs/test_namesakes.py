"""Custom resources that are called like built-in ones are treated as the custom resources they are."""

from __future__ import annotations

from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, version


def serve(cluster: Cluster, plural: str, kind: str) -> str:
    """Serve a custom resource with a status of its own, and its name with the group."""
    cluster.create(CRDS, definition(plural, kind, versions=[version(subresources={"status": {}})]))
    return f"{plural}.example.com"


def custom(kind: str, **fields: object) -> JSONObject:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "a"}, **fields}


def test_a_node_of_another_group_is_created_without_the_status_it_comes_with(cluster: Cluster) -> None:
    nodes = serve(cluster, "nodes", "Node")

    created = cluster.create(nodes, custom("Node", status={"ready": True}))

    assert "status" not in created


def test_annotations_of_a_deployment_of_another_group_are_no_part_of_what_is_asked_for(cluster: Cluster) -> None:
    deployments = serve(cluster, "deployments", "Deployment")
    created = cluster.create(deployments, custom("Deployment"))

    created["metadata"]["annotations"] = {"a": "b"}
    updated = cluster.update(deployments, created)

    assert updated["metadata"]["generation"] == 1
