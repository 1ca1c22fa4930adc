"""Namespaces for cluster-scoped resources, missing namespaces, and invalid ones."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

import dynkube
from dynkube import ResourceClient, Unstructured
from dynkube.errors import InvalidInput, InvalidObject, WrongScope
from dynkube_testing import APIServer

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
Call = Callable[[ResourceClient], Awaitable[object]]


async def watch(resource: ResourceClient, namespace: str) -> None:
    async with resource.watch(namespace=namespace):
        pass


async def iterate(resource: ResourceClient, namespace: str) -> list[Unstructured]:
    return [obj async for obj in resource.iterate(namespace=namespace)]


EVERY_VERB: list[Call] = [
    lambda r: r.get("n", namespace="shop"),
    lambda r: r.list(namespace="shop"),
    lambda r: iterate(r, "shop"),
    lambda r: watch(r, "shop"),
    lambda r: r.create(NODE, namespace="shop"),
    lambda r: r.update(NODE, namespace="shop"),
    lambda r: r.apply(NODE, namespace="shop"),
    lambda r: r.patch("n", {}, namespace="shop"),
    lambda r: r.delete("n", namespace="shop"),
    lambda r: r.delete_collection(namespace="shop"),
    lambda r: r.wait_for("n", "create", namespace="shop"),
    lambda r: r.subresource("status").get("n", namespace="shop"),
]


@pytest.mark.parametrize("verb", EVERY_VERB)
async def test_every_verb_rejects_a_namespace_for_a_cluster_scoped_resource(
    server: APIServer, client: dynkube.Client, verb: Call
) -> None:
    with pytest.raises(WrongScope, match=r"nodes\.v1 are cluster-scoped .*: leave namespace='shop' out"):
        await verb(client.resource("nodes"))

    assert not [request for request in server.requests if "nodes" in request.path]


@pytest.mark.parametrize("namespace", ["*", ""])
async def test_other_clients_markers_for_all_namespaces_are_rejected_too(
    client: dynkube.Client, namespace: str
) -> None:
    nodes = client.resource("nodes")

    for call in (lambda: nodes.get("n", namespace=namespace), lambda: nodes.list(namespace=namespace)):
        with pytest.raises(WrongScope, match=rf"leave namespace={re.escape(repr(namespace))} out"):
            await call()


async def test_a_cluster_scoped_object_with_a_namespace_is_rejected(client: dynkube.Client) -> None:
    node = {**NODE, "metadata": {"name": "n", "namespace": "shop"}}

    with pytest.raises(WrongScope, match=r"metadata\.namespace 'shop', but nodes\.v1 are cluster-scoped: remove it"):
        await client.resource("nodes").create(node)


async def test_different_namespaces_in_object_and_call_are_rejected(client: dynkube.Client) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a"}}

    with pytest.raises(InvalidObject, match=r"metadata\.namespace 'a', but the call has namespace='b': leave one"):
        await client.resource("configmaps").create(config_map, namespace="b")


async def test_deleting_a_collection_requires_a_namespace(client: dynkube.Client) -> None:
    with pytest.raises(WrongScope, match="only be deleted in one namespace at a time: pass namespace="):
        await client.resource("pods").delete_collection()


@pytest.mark.parametrize("namespace", ["Shop", "team a", "shop/web", "..", "x" * 64])
async def test_an_invalid_namespace_is_rejected_instead_of_found_empty(client: dynkube.Client, namespace: str) -> None:
    with pytest.raises(InvalidInput, match=f"namespace '{namespace}'"):
        await client.resource("pods").list(namespace=namespace)
    with pytest.raises(InvalidInput, match=f"namespace '{namespace}'"):
        client.informer("pods.v1", namespace=namespace)


@pytest.mark.scenario("K11")
@pytest.mark.parametrize("resource", ["nodes.v1", "nodes"])
async def test_an_informer_with_a_namespace_for_a_cluster_scoped_resource_is_absent(
    server: APIServer, client: dynkube.Client, resource: str
) -> None:
    server.create(NODE)

    async with client.informer(resource, namespace="shop") as nodes, client.informer(resource) as all_nodes:
        state = await nodes.wait_state(dynkube.ABSENT)
        await all_nodes.wait_state(dynkube.LIVE)

        assert state.reason == "WrongScope"
        assert "nodes.v1 is cluster-scoped" in state.message
        assert (nodes.list(), [node.name for node in all_nodes.list()]) == ([], ["n"])
