"""What a reconcile reads where several informers have the objects of a resource, or list them again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import dynkube
from dynkube.controllers import (
    Context,
    Controller,
    ObjectKey,
    Outcome,
    StaleCache,
    Watch,
    to_all,
    to_label,
    to_same_name,
)
from dynkube_testing import APIServer, Delay, Lag, RequestFacts
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, namespace, widget

GADGETS = "gadgets.example.com"
LAG = 10.0


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


def config(name: str = "c", where: str = "default", *, owner: str = "", **labels: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": where, "labels": labels}
    if owner:
        reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "a", "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def gadget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}}


def restored(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an object as a backup tool writes it."""
    return {each: metadata[each] for each in ("name", "namespace", "ownerReferences")}


def selecting(selector: str) -> Callable[[RequestFacts], bool]:
    """Return whether a watch is that of the informer with a label selector."""
    return lambda request: request.params.get("labelSelector") == selector


def recording(seen: list[list[str]], read: Callable[[Context], list[dynkube.Unstructured]]) -> Any:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        seen.append(sorted(obj.name for obj in read(ctx)))

    return reconcile


OVERLAPPING: dict[str, dict[str, Any]] = {
    "owned and watched": {"owns": ["configmaps"], "watches": [Watch("configmaps", to=to_label("w"))]},
    "two selectors": {"watches": [Watch("configmaps", to=to_all(), label_selector=each) for each in ("x", "y")]},
    "whole and metadata": {"owns": ["configmaps"], "watches": [Watch("configmaps", to=to_all(), metadata_only=True)]},
    "two names of a resource": {"owns": ["configmaps"], "watches": [Watch("configmaps.v1.", to=to_label("w"))]},
    "two namespaces": {"namespace": ["default", "b"], "watches": [Watch("configmaps", to=to_all(), namespace="b")]},
}


@pytest.mark.parametrize("name", OVERLAPPING)
async def test_an_object_that_several_informers_have_is_listed_once(
    server: APIServer, client: dynkube.Client, name: str
) -> None:
    seen: list[list[str]] = []
    where = "b" if name == "two namespaces" else "default"
    server.create(namespace("b"))
    server.create(config("c", where, x="1", y="1"))
    reconcile = recording(seen, lambda ctx: ctx.list("configmaps"))
    async with running(client, Controller(WIDGETS, reconcile, **OVERLAPPING[name])):
        await quiet(5)

    assert seen
    assert all(names == ["c"] for names in seen)


@pytest.mark.parametrize("name", [None, "widgets", WIDGETS])
async def test_objects_that_own_others_of_their_kind_are_listed_once(client: dynkube.Client, name: str | None) -> None:
    seen: list[list[str]] = []
    reconcile = recording(seen, lambda ctx: ctx.list(name) + ctx.by_index("name", "a", resource=name))
    indexes = {"name": "{.metadata.name}"}
    async with running(client, Controller(WIDGETS, reconcile, owns=[WIDGETS], indexes=indexes)):
        await quiet(5)

    assert seen == [["a", "a"]], "once in the list, and once by the index"


async def test_an_index_of_one_of_several_informers_is_read(server: APIServer, client: dynkube.Client) -> None:
    seen: list[list[str]] = []
    for name in ("c", "d"):
        server.create(config(name, theme=name))
    indexes = {"theme": "{.metadata.labels.theme}"}
    watches = [Watch("configmaps", to=to_label("w"), indexes=indexes, label_selector=each) for each in (None, "theme")]
    reconcile = recording(seen, lambda ctx: ctx.by_index("theme", "d", resource="configmaps"))
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"], watches=watches)):
        await quiet(5)

    assert seen == [["d"]]


async def test_owned_objects_are_returned_once(server: APIServer, client: dynkube.Client) -> None:
    seen: list[list[str]] = []
    server.create(config(owner=server.get(WIDGETS, "a")["metadata"]["uid"], x="1"))
    watches = [Watch("configmaps", label_selector="x")]
    async with running(
        client, Controller(WIDGETS, recording(seen, Context.owned), owns=["configmaps"], watches=watches)
    ):
        await quiet(5)

    assert seen
    assert all(names == ["c"] for names in seen)


async def test_a_watch_of_a_fixed_namespace_is_opened_once(server: APIServer, client: dynkube.Client) -> None:
    mapped: list[str] = []

    def to(obj: dynkube.Unstructured) -> list[ObjectKey]:
        mapped.append(obj.name)
        return []

    for each in ("b", "c"):
        server.create(namespace(each))
    watches = [Watch("configmaps", namespace="default", to=to)]
    async with running(client, Controller(WIDGETS, recording([], Context.list), namespace=["b", "c"], watches=watches)):
        await quiet(1)
        server.create(config())
        await quiet(1)

    assert mapped == ["c"]


@pytest.mark.parametrize("change", ["update", "delete"])
async def test_a_reconcile_sees_the_change_for_which_it_was_called_whatever_other_informers_lag(
    server: APIServer, client: dynkube.Client, change: str
) -> None:
    seen: list[list[str]] = []
    server.create(config("a", x="1"))
    # The one that lags comes first, and its own events are not mapped to any key.
    watches = [Watch("configmaps", to=lambda obj: (), label_selector="x"), Watch("configmaps", to=to_same_name)]
    server.inject(Lag(LAG), verb="watch", when=selecting("x"))
    reconcile = recording(seen, lambda ctx: ctx.list("configmaps", label_selector="x=1"))
    async with running(client, Controller(WIDGETS, reconcile, watches=watches)):
        await quiet(2 * LAG)
        if change == "update":
            server.update(config("a", x="2"))
        else:
            server.delete("configmaps", "a")
        await quiet(2 * LAG)

    assert seen == [["a"], []]


async def test_a_new_object_is_not_hidden_by_an_informer_that_lags(server: APIServer, client: dynkube.Client) -> None:
    seen: list[list[str]] = []
    server.inject(Lag(LAG), verb="watch", when=lambda each: "labelSelector" not in each.params)
    watches = [Watch("configmaps", to=to_same_name, label_selector="x")]
    reconcile = recording(seen, lambda ctx: ctx.list("configmaps"))
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"], watches=watches)):
        await quiet(2 * LAG)
        server.create(config("a", x="1"))
        await quiet(LAG / 2)

    assert seen[-1] == ["a"]


def slow_lists(server: APIServer, seconds: float) -> None:
    server.inject(Delay(seconds), when=lambda each: each.verb in ("list", "watch") and "gadgets" in each.path)


async def keep_two(ctx: Context, key: ObjectKey) -> None:
    for _ in range(2 - len(ctx.owned())):
        await ctx.create({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"generateName": "a-"}})


async def test_a_key_waits_while_a_resource_that_has_come_back_is_listed(
    server: APIServer, client: dynkube.Client
) -> None:
    server.create(crd("gadgets"))
    controller = Controller(WIDGETS, keep_two, owns=[GADGETS])
    async with running(client, controller):
        await quiet(10)
        backup = server.list(GADGETS)
        server.delete("crds", GADGETS)
        await quiet(10)
        slow_lists(server, 2)
        server.create(crd("gadgets"))
        for obj in backup:
            server.create({**gadget(obj["metadata"]["name"]), "metadata": restored(obj["metadata"])})
        await quiet(0.5)
        server.update(widget("a", size=1))
        await quiet(1)
        assert [*controller.status().waiting_for_cache] == [ObjectKey("default", "a")]
        await quiet(60)
        assert controller.status().waiting_for_cache == {}

    assert len(server.list(GADGETS)) == len(backup) == 2


READS: dict[str, Callable[[Context], object]] = {
    "list": lambda ctx: ctx.list(GADGETS),
    "owned": Context.owned,
    "get": lambda ctx: ctx.get("g", resource=GADGETS),
    "by_index": lambda ctx: ctx.by_index("name", "g", resource=GADGETS),
    "create": lambda ctx: ctx.create(gadget("g")),
}


@pytest.mark.parametrize("read", READS)
async def test_a_resource_that_comes_back_during_a_reconcile_is_not_taken_for_empty(
    server: APIServer, client: dynkube.Client, read: str
) -> None:
    ended: list[object] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await trio.sleep(20)
        try:
            found = READS[read](ctx)
            ended.append(await found if isinstance(found, Awaitable) else found)
        except StaleCache as exc:
            ended.append(exc)
            raise

    watches = [Watch(GADGETS, indexes={"name": "{.metadata.name}"})]
    controller = Controller(WIDGETS, reconcile, watches=watches)
    async with running(client, controller):
        await quiet(10)
        slow_lists(server, 30)
        server.create(crd("gadgets"))
        await quiet(15)
        assert controller.status().outcomes == {Outcome.CONFLICT: 1}
        await quiet(120)

    assert [isinstance(each, StaleCache) for each in ended[:2]] == [True, False]
