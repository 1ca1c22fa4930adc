"""Verbs on a resource whose CRD was replaced after the client has read discovery: they use the new CRD."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from dynkube import GVR, Client, ResourceClient
from dynkube.errors import InvalidObject, WrongScope
from tests.contract.cluster import Cluster

Verb: TypeAlias = Callable[[ResourceClient, dict[str, Any], str], Awaitable[Any]]


def bare(widget: dict[str, Any], name: str = "w") -> dict[str, Any]:
    return {**widget, "metadata": {"name": name}}


async def watched(widgets: ResourceClient, namespace: str) -> None:
    async with widgets.watch(namespace=namespace) as events:
        await anext(aiter(events))


VERBS: dict[str, Verb] = {
    "get": lambda widgets, _, where: widgets.get("w", namespace=where),
    "list": lambda widgets, _, where: widgets.list(namespace=where),
    "table": lambda widgets, _, where: widgets.table(namespace=where),
    "iterate": lambda widgets, _, where: anext(aiter(widgets.iterate(namespace=where))),
    "watch": lambda widgets, _, where: watched(widgets, where),
    "wait_for": lambda widgets, _, where: widgets.wait_for("w", lambda obj: True, namespace=where),
    "create": lambda widgets, live, where: widgets.create(bare(live, "v"), namespace=where),
    "update": lambda widgets, live, _: widgets.update(live),
    "patch": lambda widgets, _, where: widgets.patch("w", {"spec": {}}, namespace=where),
    "apply": lambda widgets, live, where: widgets.apply(bare(live), namespace=where),
    "diff": lambda widgets, live, where: widgets.diff(bare(live), namespace=where),
    "drift": lambda widgets, live, where: widgets.diff_applied(bare(live), namespace=where),
    "transfer": lambda widgets, _, where: widgets.transfer_fields("w", "hand", "other", namespace=where),
    "delete": lambda widgets, _, where: widgets.delete("w", namespace=where),
    "delete_collection": lambda widgets, _, where: widgets.delete_collection(namespace=where),
}


async def replaced(cluster: Cluster, client: Client, **spec: Any) -> ResourceClient:
    """Return the verbs of a client that has read discovery before the CRD was replaced by one with ``spec``."""
    await cluster.create_crd(cluster.crd(scope="Cluster"))
    widgets = client.resource(GVR(cluster.group, "v1", "widgets"))
    await widgets.list()
    await cluster.delete_crd()
    await cluster.create_crd(cluster.crd(**spec))
    return widgets


@pytest.mark.parametrize("verb", VERBS)
async def test_verbs_with_a_namespace_work_after_the_resource_became_namespaced(
    cluster: Cluster, client: Client, verb: str
) -> None:
    widgets = await replaced(cluster, client)
    widget = cluster.widget(spec={"size": 1})
    live = await cluster.create("widgets", widget, params={"fieldManager": "hand"})

    await VERBS[verb](widgets, live, cluster.namespace)  # raised WrongScope before

    assert (await widgets.resolve()).namespaced


async def test_manifests_with_a_namespace_are_applied_after_the_resource_became_namespaced(
    cluster: Cluster, client: Client
) -> None:
    await replaced(cluster, client)
    widget = cluster.widget()
    widget["metadata"]["namespace"] = cluster.namespace

    report = await client.apply_all([widget])

    assert [(entry.outcome, entry.namespace) for entry in report] == [("created", cluster.namespace)]


async def test_auth_can_i_with_a_namespace_works_after_the_resource_became_namespaced(
    cluster: Cluster, client: Client
) -> None:
    widgets = await replaced(cluster, client)

    response = await client.auth_can_i("list", (await widgets.resolve()).gvr, namespace=cluster.namespace)

    assert response
    assert f"in namespace {cluster.namespace}" in str(response)


async def test_an_object_of_the_new_kind_can_be_created(cluster: Cluster, client: Client) -> None:
    widgets = await replaced(cluster, client, kind="Gadget", scope="Cluster")
    gadget = {**cluster.widget(), "kind": "Gadget"}

    assert (await widgets.create(gadget)).kind == "Gadget"
    with pytest.raises(InvalidObject, match=r"expects .* Gadget"):
        await widgets.create(cluster.widget("v"))


async def test_a_namespace_is_an_error_if_the_resource_is_still_cluster_scoped(
    cluster: Cluster, client: Client
) -> None:
    widgets = await replaced(cluster, client, scope="Cluster")

    with pytest.raises(WrongScope, match="leave namespace='shop' out"):
        await widgets.list(namespace="shop")
