"""The initial namespaces, and the deletion of namespaces."""

from __future__ import annotations

import pytest

from dynkube.errors import Forbidden, NotFound
from tests.contract.events import types_and_names
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster


def test_the_initial_namespaces_exist(cluster: Cluster) -> None:
    assert cluster.names("namespaces") == ["default", "kube-node-lease", "kube-public", "kube-system"]
    default = cluster.get("namespaces", "default")
    assert default["status"] == {"phase": "Active"}
    assert default["metadata"]["labels"] == {"kubernetes.io/metadata.name": "default"}


async def test_deleting_a_namespace_empties_it_first(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    cluster.create("configmaps", config(), namespace="shop")
    cluster.create("configmaps", config("other"))
    start = str(cluster.engine.storage.revision)
    streams = [cluster.watch(resource, resourceVersion=start) for resource in ("namespaces", "configmaps")]

    response = cluster.delete("namespaces", "shop")

    assert response["status"]["phase"] == "Terminating"
    namespaces, contents = [await cluster.rest_of(stream) for stream in streams]
    assert types_and_names(namespaces) == [("MODIFIED", "shop"), ("MODIFIED", "shop"), ("DELETED", "shop")]
    assert types_and_names(contents) == [("DELETED", "a")]
    assert _version(contents[0]) < _version(namespaces[1])


def test_an_object_with_a_finalizer_keeps_its_namespace_terminating_and_creates_fail(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    cluster.create("configmaps", config(finalizers=["example.com/hold"]), namespace="shop")

    cluster.delete("namespaces", "shop")

    assert cluster.get("namespaces", "shop")["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="because it is being terminated") as caught:
        cluster.create("configmaps", config("b"), namespace="shop")
    assert caught.value.causes[0].reason == "NamespaceTerminating"

    cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}}, namespace="shop")
    with pytest.raises(NotFound):
        cluster.get("namespaces", "shop")


def test_a_namespace_stays_until_its_own_finalizer_is_removed(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop", "finalizers": ["example.com/hold"]}})
    cluster.delete("namespaces", "shop")

    assert cluster.get("namespaces", "shop")["spec"] == {}
    cluster.patch("namespaces", "shop", {"metadata": {"finalizers": None}})
    with pytest.raises(NotFound):
        cluster.get("namespaces", "shop")


def _version(event: dict[str, dict[str, dict[str, str]]]) -> int:
    return int(event["object"]["metadata"]["resourceVersion"])
