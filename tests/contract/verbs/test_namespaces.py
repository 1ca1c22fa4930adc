"""Namespaces: what they are born with, which stay, and that nothing new comes into one on its way out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dynkube.errors import Conflict, Forbidden, NotFound
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, config


@pytest.fixture
async def going(cluster: Cluster) -> AsyncIterator[JSONObject]:
    """The test's own namespace, deleted and not gone: an object in it is held."""
    await cluster.create("configmaps", config(finalizers=["example.com/hold"]))
    yield await cluster.delete("namespaces", cluster.namespace)
    released = {"metadata": {"finalizers": None}}  # whether or not its namespace is still there
    await cluster.call("PATCH", cluster.path("configmaps", "a"), body=released, content_type=MERGE)


async def test_a_new_namespace_is_active_and_waits_for_its_contents_when_it_goes(cluster: Cluster) -> None:
    created = await cluster.create("namespaces", {"metadata": {"name": f"{cluster.namespace}-b"}})

    assert created["status"] == {"phase": "Active"}
    assert created["spec"] == {"finalizers": ["kubernetes"]}


@pytest.mark.since("1.21", "namespaces had no labels of their own")
async def test_a_namespace_is_labelled_with_its_name(cluster: Cluster) -> None:
    found = await cluster.get("namespaces", cluster.namespace)

    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": cluster.namespace}


async def test_a_deleted_namespace_is_terminating(cluster: Cluster, going: JSONObject) -> None:
    assert (going["kind"], going["status"]["phase"]) == ("Namespace", "Terminating")
    assert going["metadata"]["deletionTimestamp"]


async def test_nothing_new_comes_into_a_namespace_on_its_way_out(cluster: Cluster, going: JSONObject) -> None:
    with pytest.raises(Forbidden) as caught:
        await cluster.create("configmaps", config("b"))

    status = caught.value.status
    assert status.message == (
        f'configmaps "b" is forbidden: unable to create new content in namespace {cluster.namespace} because it is '
        "being terminated"
    )
    (cause,) = caught.value.causes
    expected = ("NamespaceTerminating", f"namespace {cluster.namespace} is being terminated", "metadata.namespace")
    assert (cause.reason, cause.message, cause.field) == expected


async def test_what_is_in_it_can_still_be_written(cluster: Cluster, going: JSONObject) -> None:
    assert (await cluster.patch("configmaps", "a", {"data": {"k": "w"}}))["data"] == {"k": "w"}


async def test_the_finalizers_of_its_spec_go_through_a_subresource_and_the_namespace_with_the_last(
    cluster: Cluster, going: JSONObject
) -> None:
    latest = await cluster.get("namespaces", cluster.namespace)
    untouched = await cluster.update("namespaces", {**latest, "spec": {"finalizers": ["a.b/c", "kubernetes"]}})
    assert untouched["spec"] == {"finalizers": ["kubernetes"]}

    path = cluster.path("namespaces/finalize", cluster.namespace)
    written = await cluster.ask("PUT", path, body={**untouched, "spec": {"finalizers": ["a.b/c"]}})
    assert written["spec"] == {"finalizers": ["a.b/c"]}
    await cluster.ask("PUT", path, body={**written, "spec": {}})
    with pytest.raises(NotFound):
        await cluster.get("namespaces", cluster.namespace)


async def test_a_namespace_of_an_older_version_is_not_written(cluster: Cluster) -> None:
    found = await cluster.get("namespaces", cluster.namespace)
    await cluster.patch("namespaces", cluster.namespace, {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(Conflict, match="the object has been modified"):
        await cluster.update("namespaces", found)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_namespaces_that_a_cluster_needs_cannot_be_deleted(cluster: Cluster, name: str) -> None:
    with pytest.raises(Forbidden) as caught:
        await cluster.delete("namespaces", name, params={"dryRun": "All"})

    assert caught.value.status.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
