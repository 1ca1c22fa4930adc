"""Nothing is created for an owner that was deleted, although the cache still shows it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey
from dynkube_testing import APIServer, Delay, Lag, Refuse
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, widget

LAG = 30.0

WRITES: dict[str, Callable[[Context], Awaitable[object]]] = {
    "apply_owned": lambda ctx: ctx.apply_owned([config(name="child")]),
    "apply": lambda ctx: ctx.apply(config(name="child")),
    "create": lambda ctx: ctx.create(config(generateName="child-")),
}


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


def config(**metadata: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def collect_garbage(server: APIServer) -> None:
    """Delete objects without an owner, as the garbage collector does soon after they are created."""
    uids = {obj["metadata"]["uid"] for obj in server.list("widgets")}
    for obj in server.list("configmaps"):
        if all(each["uid"] not in uids for each in obj["metadata"]["ownerReferences"]):
            server.delete("configmaps", obj["metadata"]["name"])


def keeping_a_child(server: APIServer, write: str) -> Controller:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        if ctx.get() is not None and not ctx.owned():
            await WRITES[write](ctx)
            collect_garbage(server)

    return Controller(WIDGETS, reconcile, owns=["configmaps"])


def requests(server: APIServer, *verbs: str) -> int:
    return sum(each.verb in verbs for each in server.audit)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and created again"])
@pytest.mark.parametrize("write", WRITES)
async def test_nothing_is_created_for_an_owner_that_was_deleted_unseen(
    server: APIServer, client: dynkube.Client, write: str, again: bool
) -> None:
    server.inject(Lag(LAG), verb="watch", resource=WIDGETS)
    controller = keeping_a_child(server, write)
    async with running(client, controller):
        await quiet(2 * LAG)
        server.forget_requests()
        server.delete("widgets", "a")
        if again:
            server.create(widget("a"))
        collect_garbage(server)
        await quiet(LAG - 5)
        assert requests(server, "create", "patch") == 0
        assert requests(server, "get") == 1
        assert [*controller.status().waiting_for_cache] == [ObjectKey("default", "a")]
        await quiet(2 * LAG)

    assert len(server.list("configmaps")) == again


@pytest.mark.parametrize("write", WRITES)
async def test_a_deleted_object_is_created_again_for_an_owner_that_exists(
    server: APIServer, client: dynkube.Client, write: str
) -> None:
    async with running(client, keeping_a_child(server, write)):
        await quiet(5)
        for _ in range(3):
            server.delete("configmaps", server.list("configmaps")[0]["metadata"]["name"])
            await quiet(5)

    assert len(server.list("configmaps")) == 1
    assert requests(server, "get") == 3


async def test_an_owner_is_read_again_if_another_object_was_deleted_while_it_was_read(
    server: APIServer, client: dynkube.Client
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        for name in ("c", "d"):
            await ctx.apply(config(name=name))

    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(5)
        server.inject(Delay(5), verb="get", resource=WIDGETS, times=1)
        server.delete("configmaps", "c")
        await quiet(2)
        server.delete("configmaps", "d")
        await quiet(60)

    assert requests(server, "get") == 2
    assert [obj["metadata"]["name"] for obj in server.list("configmaps")] == ["c", "d"]


async def test_nothing_is_created_for_an_owner_whose_deletion_has_begun_unseen(
    server: APIServer, client: dynkube.Client
) -> None:
    held = widget("a")
    held["metadata"]["finalizers"] = ["example.com/held"]
    server.update(held)
    server.inject(Lag(LAG), verb="watch", resource=WIDGETS)
    async with running(client, keeping_a_child(server, "create")):
        await quiet(2 * LAG)
        server.forget_requests()
        server.delete("widgets", "a")
        server.delete("configmaps", server.list("configmaps")[0]["metadata"]["name"])
        await quiet(LAG - 5)

        assert requests(server, "create") == 0


async def test_nothing_is_created_while_the_owner_cannot_be_read(server: APIServer, client: dynkube.Client) -> None:
    async with running(client, keeping_a_child(server, "create")):
        await quiet(5)
        server.forget_requests()
        fault = server.inject(Refuse(404, body="<html>no such route</html>"), verb="get")
        server.delete("configmaps", server.list("configmaps")[0]["metadata"]["name"])
        await quiet(5)
        assert requests(server, "create") == 0
        fault.remove()
        await quiet(60)

    assert len(server.list("configmaps")) == 1
