"""Controllers limited to namespaces that watch cluster-scoped resources, and their objects in namespaces."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, Watch, to_all
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, namespace, widget


def cluster_widget(name: str = "a") -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}


def config(**metadata: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}}


@pytest.mark.parametrize("namespaces", ["default", ["default", "b"]])
async def test_a_cluster_scoped_resource_is_reconciled_whatever_the_namespaces(
    server: APIServer, client: dynkube.Client, namespaces: Any
) -> None:
    calls = Calls()
    server.create(crd(scope="Cluster"))
    server.create(cluster_widget())
    controller = Controller(WIDGETS, calls, namespace=namespaces)
    async with running(client, controller):
        await quiet(5)
        assert [name for name, _ in controller.status().informers] == [WIDGETS]

    assert calls.keys == ["a"]


async def test_a_cluster_scoped_resource_that_is_installed_later_is_reconciled(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    async with running(client, Controller(WIDGETS, calls, namespace="default")):
        await quiet(60)
        server.create(crd(scope="Cluster"))
        server.create(cluster_widget())
        await quiet(5)

    assert calls.keys == ["a"]


async def test_objects_in_other_namespaces_stay_hidden_when_a_crd_gets_another_scope(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(namespace("other"))
    server.create(crd(scope="Cluster"))
    async with running(client, Controller("widgets.example.com", calls, namespace="default")):
        await quiet(5)
        server.delete("crds", "widgets.example.com")
        await quiet(5)
        server.create(crd())
        server.create(widget("a", namespace="other"))
        await quiet(60)

    assert calls.keys == []


async def test_a_watch_of_a_cluster_scoped_resource_sees_all_objects_once(
    server: APIServer, client: dynkube.Client
) -> None:
    seen: list[set[str]] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        names = [obj.name for obj in ctx.list("namespaces")]
        assert len(names) == len(set(names))
        seen.append(set(names))

    server.create(crd())
    server.create(widget("a"))
    controller = Controller(
        WIDGETS, reconcile, namespace=["default", "other"], watches=[Watch("namespaces", to=to_all())]
    )
    async with running(client, controller):
        await quiet(5)
        server.create(namespace("other"))
        await quiet(5)

    assert ["other" in names for names in seen] == [False, True]


async def test_a_watch_of_a_cluster_scoped_resource_in_a_namespace_is_logged(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    async with running(client, Controller(WIDGETS, Calls(), watches=[Watch("nodes", namespace="default")])):
        await quiet(60)

    (logged,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert "nodes is cluster-scoped" in logged
    assert "leave namespace= out of the Watch" in logged


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("verb", ["apply", "create"])
async def test_an_object_in_no_namespace_is_not_written_for_a_cluster_scoped_one(
    server: APIServer, client: dynkube.Client, verb: str, owned: bool
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await getattr(ctx, verb)(config(), owned=owned)

    server.create(crd(scope="Cluster"))
    server.create(cluster_widget())
    controller = Controller(WIDGETS, reconcile, owns=["configmaps"])
    async with running(client, controller):
        await quiet(1)
        (failure,) = controller.status().failures

    assert "has no namespace, and a, whose namespace would be the default, is cluster-scoped" in failure.error
    assert "set metadata.namespace" in failure.error
    assert server.list("configmaps", namespace="default") == []


async def test_a_cluster_scoped_object_owns_one_in_a_namespace(server: APIServer, client: dynkube.Client) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await ctx.apply(config(namespace="default"))

    server.create(crd(scope="Cluster"))
    server.create(cluster_widget())
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(1)

    (reference,) = server.get("configmaps", "c")["metadata"]["ownerReferences"]
    assert reference["name"] == "a"
