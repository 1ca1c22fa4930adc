"""Namespaces: only ``finalize`` changes their finalizers, and the phase shows whether they are being deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dynkube.errors import Conflict, Forbidden, Invalid, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config

HELD = "example.com/hold"


@pytest.fixture
async def namespace(cluster: Cluster) -> AsyncIterator[JSONObject]:
    """A namespace with a finalizer of the test, besides the one of every namespace."""
    name = f"{cluster.namespace}-more"
    created = await cluster.create("namespaces", {"metadata": {"name": name}, "spec": {"finalizers": [HELD]}})
    yield created
    finalizers = _finalizers({**created, "metadata": {"name": name}})
    await cluster.call("PUT", cluster.path("namespaces/finalize", name), body=finalizers)


def _finalizers(namespace: JSONObject, *finalizers: str) -> JSONObject:
    return {**namespace, "spec": {"finalizers": list(finalizers)}}


async def test_a_new_namespace_gets_the_finalizer_kubernetes(cluster: Cluster, namespace: JSONObject) -> None:
    assert namespace["spec"] == {"finalizers": [HELD, "kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


async def test_only_the_finalize_path_writes_finalizers(cluster: Cluster, namespace: JSONObject) -> None:
    name = namespace["metadata"]["name"]

    through_object = await cluster.patch("namespaces", name, {"spec": {"finalizers": []}})
    through_finalize = await cluster.update("namespaces/finalize", _finalizers(through_object, HELD))

    assert through_object["spec"] == namespace["spec"]
    assert through_finalize["spec"] == {"finalizers": [HELD]}
    assert await cluster.get("namespaces", name) == through_finalize


async def test_finalize_with_an_old_resource_version_is_a_conflict(cluster: Cluster, namespace: JSONObject) -> None:
    await cluster.update("namespaces/finalize", _finalizers(namespace, HELD))

    with pytest.raises(Conflict, match="the object has been modified"):
        await cluster.update("namespaces/finalize", _finalizers(namespace))


async def test_a_finalizer_without_a_domain_is_invalid(cluster: Cluster, namespace: JSONObject) -> None:
    with pytest.raises(Invalid, match="finalizers"):
        await cluster.update("namespaces/finalize", _finalizers(namespace, "bare"))


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_finalize_supports_only_put(cluster: Cluster, namespace: JSONObject, method: str) -> None:
    path = cluster.path("namespaces/finalize", namespace["metadata"]["name"])

    assert (await cluster.call(method, path)).code == 405


async def test_a_terminating_namespace_is_deleted_when_it_has_no_finalizers(
    cluster: Cluster, namespace: JSONObject
) -> None:
    name = namespace["metadata"]["name"]

    marked = await cluster.delete("namespaces", name)
    last = {**marked, "metadata": {"name": name}}
    await cluster.update("namespaces/finalize", _finalizers(last))

    assert (marked["status"]["phase"], HELD in marked["spec"]["finalizers"]) == ("Terminating", True)
    with pytest.raises(NotFound):
        await cluster.get("namespaces", name)


async def test_creating_an_object_in_a_terminating_namespace_is_a_403(cluster: Cluster, namespace: JSONObject) -> None:
    name = namespace["metadata"]["name"]
    await cluster.delete("namespaces", name)

    with pytest.raises(Forbidden) as caught:
        await cluster.create("configmaps", config(), namespace=name)

    why = f"unable to create new content in namespace {name} because it is being terminated"
    assert caught.value.status.message == f'configmaps "a" is forbidden: {why}'
    assert [cause.reason for cause in caught.value.causes] == ["NamespaceTerminating"]


@pytest.mark.parametrize("phase", ["Terminating", "Other"])
async def test_the_phase_of_a_namespace_cannot_be_set_to_another_value(
    cluster: Cluster, namespace: JSONObject, phase: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.patch("namespaces/status", namespace["metadata"]["name"], {"status": {"phase": phase}})

    why = f"Invalid value: \"{phase}\": may only be 'Active' if `deletionTimestamp` is empty"
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [("status.Phase", why)]
