"""A 404 counts as "deleted" only if it says so: not one of a server that is starting, or of a proxy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, EventRecorder, LeaderElection, LeaderElector, ObjectKey
from dynkube_testing import APIServer, Cut, Disconnect, Refuse, RequestFacts
from tests.controllers.kit import START, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

GADGETS = "gadgets.v1.example.com"
NOT_FOUND = {
    "Go's page": Refuse(404, body="404 page not found\n", content_type="text/plain"),
    "a Status without a name": Refuse(404),
    "a page of a proxy": Refuse(404, body="<html>no such route</html>"),
}
not_found = pytest.mark.parametrize("answer", NOT_FOUND.values(), ids=NOT_FOUND)


def gadget(**spec: object) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "child"}, "spec": spec}


def owned_gadget(owner: dict[str, Any], **spec: object) -> dict[str, Any]:
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "controller": True}
    reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    found = gadget(**spec)
    found["metadata"]["ownerReferences"] = [reference]
    return found


def child(ctx: Context) -> Unstructured | None:
    return ctx.get("child", resource=GADGETS)


async def create(ctx: Context) -> None:
    if child(ctx) is None:
        await ctx.create(gadget(size=2))


async def update(ctx: Context) -> None:
    found = child(ctx)
    if found is not None and found["spec"] != {"size": 2}:
        await ctx.update(found.transform(["spec"], {"size": 2}))


async def patch(ctx: Context) -> None:
    found = child(ctx)
    if found is not None and found["spec"] != {"size": 2}:
        await ctx.patch(found, {"spec": {"size": 2}})


async def apply(ctx: Context) -> None:
    await ctx.apply(gadget(size=2))


async def apply_owned(ctx: Context) -> None:
    await ctx.apply_owned([gadget(size=2)])


async def delete(ctx: Context) -> None:
    for obj in ctx.owned():
        await ctx.delete(obj)


async def delete_others(ctx: Context) -> None:
    await ctx.apply_owned([])


async def set_status(ctx: Context) -> None:
    found = child(ctx)
    if found is not None:
        await ctx.set_status(found, {"size": 2})


VERBS: list[tuple[Callable[[Context], Awaitable[None]], bool, dict[str, Any] | None]] = [
    (create, False, {"spec": {"size": 2}}),
    (update, True, {"spec": {"size": 2}}),
    (patch, True, {"spec": {"size": 2}}),
    (apply, False, {"spec": {"size": 2}}),
    (apply_owned, False, {"spec": {"size": 2}}),
    (delete, True, None),
    (delete_others, True, None),
    (set_status, True, {"spec": {"size": 1}, "status": {"size": 2}}),
]


@pytest.fixture
def both(server: APIServer) -> dict[str, Any]:
    """The CRDs of widgets and gadgets, and the widget that is reconciled."""
    for plural in ("widgets", "gadgets"):
        server.create(crd(plural))
    return server.create(widget("a"))


def content(server: APIServer) -> dict[str, Any] | None:
    """The child on the server, without metadata."""
    objects = server.list(GADGETS)
    assert len(objects) <= 1, "created twice"
    return {key: value for key, value in objects[0].items() if key in ("spec", "status")} if objects else None


def controller_of(verb: Callable[[Context], Awaitable[None]]) -> Controller:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await verb(ctx)

    return Controller(WIDGETS, reconcile, owns=[GADGETS])


@not_found
@pytest.mark.parametrize(("verb", "exists", "wanted"), VERBS, ids=[each[0].__name__ for each in VERBS])
async def test_a_verb_with_one_404_of_others_is_repeated(
    server: APIServer,
    client: dynkube.Client,
    both: dict[str, Any],
    answer: Refuse,
    verb: Any,
    exists: bool,
    wanted: Any,
) -> None:
    if exists:
        server.create(owned_gadget(both, size=1))
    controller = controller_of(verb)
    writes = ("create", "update", "patch", "apply", "delete")
    server.inject(answer, when=lambda call: call.verb in writes, resource=GADGETS, times=1)
    async with running(client, controller):
        await quiet(60)
        assert content(server) == wanted
        assert controller.status().waiting_for_cache == {}


@not_found
@pytest.mark.parametrize("sent", ["before", "after"])
@pytest.mark.parametrize(("verb", "exists", "wanted"), VERBS, ids=[each[0].__name__ for each in VERBS])
async def test_a_write_without_a_response_is_read_back_until_the_server_answers(
    server: APIServer,
    client: dynkube.Client,
    both: dict[str, Any],
    answer: Refuse,
    sent: str,
    verb: Any,
    exists: bool,
    wanted: Any,
) -> None:
    if exists:
        server.create(owned_gadget(both, size=1))
    controller = controller_of(verb)
    lost: list[RequestFacts] = []

    def first_write(call: RequestFacts) -> bool:
        if lost or call.verb not in ("create", "update", "patch", "apply", "delete"):
            return False
        lost.append(call)
        return True

    server.inject(Disconnect() if sent == "before" else Cut("reset"), when=first_write, resource=GADGETS)
    server.inject(answer, verb="get", when=lambda call: bool(lost), resource=GADGETS, times=2)
    async with running(client, controller):
        await quiet(60)
        assert content(server) == wanted
        assert controller.status().waiting_for_cache == {}


@not_found
async def test_an_event_with_one_404_of_others_is_sent_later_and_once(
    server: APIServer, client: dynkube.Client, answer: Refuse
) -> None:
    recorder, events = EventRecorder(client, controller="example.com/shop", instance="shop-1"), "events.events.k8s.io"
    about = Unstructured(server.create(crd()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        for verb in ("create", "patch"):
            server.inject(answer, verb=verb, resource=events, times=1)
            recorder.event(about, "Failed")
            await quiet(60)
        nursery.cancel_scope.cancel()

    [event] = server.list(events)
    assert event["series"]["count"] == 2
    assert recorder.statistics().dropped == dict.fromkeys(recorder.statistics().dropped, 0)


@not_found
async def test_a_leader_keeps_its_lease_when_reads_and_renewals_get_a_404_of_others(
    server: APIServer, client: dynkube.Client, answer: Refuse
) -> None:
    elector = LeaderElector(client, LeaderElection("sites", identity="a"), rng=Random(7), now=lambda: START)
    async with elector.leadership():
        for verb in ("update", "get"):
            server.inject(answer, verb=verb, resource="leases", times=1)
        await quiet(60)
        assert elector.status.holder == "a"

    leases = [each.verb for each in server.audit if each.resource and each.resource.resource == "leases"]
    assert leases.count("create") == 1


async def test_a_candidate_does_not_create_a_lease_that_is_hidden_by_a_404_of_others(
    server: APIServer, client: dynkube.Client
) -> None:
    server.inject(NOT_FOUND["Go's page"], verb="get", resource="leases", duration=30)
    elector = LeaderElector(client, LeaderElection("sites", identity="a"), rng=Random(7), now=lambda: START)
    with trio.move_on_after(20):
        async with elector.leadership():
            raise AssertionError("it leads")

    assert "404" in elector.status.error
    assert "create" not in [each.verb for each in server.audit]


async def test_a_key_that_deletes_objects_of_a_removed_crd_continues(
    server: APIServer, client: dynkube.Client, both: dict[str, Any]
) -> None:
    server.create(owned_gadget(both))
    calls: list[int] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        owned = ctx.owned()
        calls.append(len(owned))
        if owned:
            server.delete("crds", "gadgets.example.com")
            await ctx.delete(owned[0])

    controller = Controller(WIDGETS, reconcile, owns=[GADGETS])
    async with running(client, controller):
        await quiet(300)
        assert calls[-1] == 0
        assert controller.status().waiting_for_cache == {}
        assert len(calls) < 20


# ── deletions that are undone ────────────────────────────────────────────────────────────────


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data}


class DeletesOnce:
    """A reconcile that deletes its object at the first call, while the watch is silent."""

    def __init__(self, server: APIServer) -> None:
        self.server, self.calls = server, list[float]()

    async def __call__(self, ctx: Context, key: ObjectKey) -> None:
        self.calls.append(trio.current_time())
        if len(self.calls) == 1 and (obj := ctx.get()) is not None:
            self.server.end_watches("configmaps", "silent")
            await ctx.delete(obj)


@pytest.mark.parametrize("fault", [None, *NOT_FOUND.values(), Refuse(403), Refuse(500)], ids=str)
async def test_a_deletion_that_a_restored_backup_has_undone_is_not_waited_for(
    server: APIServer, client: dynkube.Client, fault: Refuse | None
) -> None:
    server.create(config_map())
    backup, reconcile = server.snapshot(), DeletesOnce(server)
    controller = Controller("configmaps", reconcile)
    async with running(client, controller):
        await quiet(5)
        server.restore(backup)
        if fault is not None:
            server.inject(fault, verb="get", resource="configmaps", times=1)
        await quiet(200)

    assert len(reconcile.calls) > 1
    assert controller.status().waiting_for_cache == {}


async def test_a_deletion_that_the_cache_is_late_to_show_is_waited_for(
    server: APIServer, client: dynkube.Client
) -> None:
    server.create(config_map())
    reconcile = DeletesOnce(server)
    async with running(client, Controller("configmaps", reconcile, resync=1)):
        await quiet(1)
        for verb in ("watch", "list"):
            server.inject(Refuse(503), verb=verb, resource="configmaps", duration=1000)
        await quiet(1000)
        reads = [each for each in server.audit if each.verb == "get" and each.resource]

    assert len(reconcile.calls) == 1
    assert 2 <= len(reads) <= 8


async def test_without_pending_deletions_nothing_is_read_back(server: APIServer, client: dynkube.Client) -> None:
    server.create(config_map())
    async with running(client, controller_of_config_maps()):
        await quiet(1000)

    assert "get" not in [each.verb for each in server.audit if each.resource]


def controller_of_config_maps() -> Controller:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        for obj in ctx.list():
            if obj.deletion_timestamp is None:
                await ctx.delete(obj)

    return Controller("configmaps", reconcile)
