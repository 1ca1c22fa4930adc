"""Changes of dependents reconcile their owners; the cases of controller-runtime's ``EnqueueRequestForOwner``."""

from __future__ import annotations

from typing import Any

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, Watch, to_owner
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget


def config(*owners: dict[str, Any], controller: bool = True, **data: str) -> dict[str, Any]:
    """A ConfigMap with these owners."""
    references = [
        {"apiVersion": each["apiVersion"], "kind": each["kind"], "name": each["metadata"]["name"]}
        | {"uid": each["metadata"]["uid"], "controller": controller}
        for each in owners
    ]
    metadata = {"name": "child", "namespace": "default", "ownerReferences": references}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_an_object_that_gets_another_controller_reconciles_both(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd())
    one, two = server.create(widget("one")), server.create(widget("two"))
    server.create(config(one))
    async with running(client, Controller(WIDGETS, calls, owns=["configmaps"])):
        await quiet(1)
        calls.keys.clear()
        server.update(config(two))
        await quiet(1)
        server.update(config(two, changed="again"))
        await quiet(1)

    assert sorted(calls.keys[:2]) == ["default/one", "default/two"]
    assert calls.keys[2:] == ["default/two"]


async def test_an_owner_that_was_created_again_replaces_what_its_predecessor_owned(
    server: APIServer, client: dynkube.Client
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        if ctx.get() is not None and ctx.get("child", resource="configmaps") is None:
            metadata = {"name": "child", "finalizers": ["example.com/slow"]}
            await ctx.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    server.create(crd())
    server.create(widget("one"))
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(1)
        server.delete("widgets", "one")
        new = server.create(widget("one"))
        await quiet(1)
        old = server.get("configmaps", "child")
        server.update({**old, "metadata": {**old["metadata"], "finalizers": []}})  # now it is gone
        await quiet(1)

    (child,) = server.list("configmaps")
    assert child["metadata"]["ownerReferences"][0]["uid"] == new["metadata"]["uid"]


async def test_an_owner_of_another_kind_with_the_same_name_is_not_reconciled(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd())
    server.create(widget("one"))
    async with running(client, Controller(WIDGETS, calls, owns=["configmaps"])):
        await quiet(1)
        calls.keys.clear()
        named = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one", "namespace": "default"}}
        server.create(config(server.create(named)))
        await quiet(1)

    assert calls.keys == []


async def test_a_cluster_scoped_owner_of_a_namespaced_object_is_reconciled(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd(scope="Cluster"))
    owner = server.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}})
    async with running(client, Controller(WIDGETS, calls, owns=["configmaps"])):
        await quiet(1)
        server.create(config(owner))
        await quiet(1)

    assert (calls.keys, calls.times) == (["a", "a"], [0, 1])


async def test_owners_that_are_no_controllers_are_reconciled_on_request(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd())
    owners = [server.create(widget(name)) for name in ("one", "two", "three")]
    async with running(
        client, Controller(WIDGETS, calls, watches=[Watch("configmaps", to=to_owner(controller=False))])
    ):
        await quiet(1)
        calls.keys.clear()
        server.create(config(*owners[:2], controller=False))
        await quiet(1)

    assert sorted(calls.keys) == ["default/one", "default/two"]
