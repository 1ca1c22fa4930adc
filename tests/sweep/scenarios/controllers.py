"""Controllers: each key is reconciled again, has one child, and nothing is deleted that is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Any

import trio

from dynkube import HashShard, Unstructured
from dynkube.controllers import (
    Context,
    Controller,
    EventRecorder,
    LeaderElection,
    LeaderElector,
    ObjectKey,
    Requeue,
    Result,
    StatusCondition,
    run,
)
from tests.informers.kit import replace
from tests.sweep.cluster import WIDGETS, config, widget, widgets
from tests.sweep.lab import Lab, Object, Scenario, now, scenario

CONTEXT = "dynkube.controllers.Context"
HOUR = 3600.0
Body = Callable[[Context, Unstructured], Awaitable[Result]]
on_widgets = partial(scenario, prepare=widgets, opening=0.0, repeat=False, most=2)


def children(lab: Lab) -> list[Object]:
    """Return the ConfigMaps."""
    return [each for each in lab.server.list("configmaps", "default") if each["metadata"]["name"] != "shared"]


Claim = Callable[[Lab], str]


async def reconcile_all(lab: Lab, body: Body, claim: Claim, **options: Any) -> None:
    """Run a controller of widgets whose watches end and expire, and change a widget.

    Within an hour the widget has to be reconciled, and ``claim`` to return ``""``: it says what is not as it should be.
    """
    lab.opened()
    calls: Counter[str] = Counter()

    async def reconcile(ctx: Context, key: ObjectKey) -> Result:
        obj = ctx.get()
        calls[key.name] += 1
        return None if obj is None else await body(ctx, obj)

    controller = Controller(WIDGETS, reconcile, name="sweep", owns=["configmaps"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run, lab.client, controller, now=now, random=Random(7), **options))
        await trio.sleep(30)
        lab.server.end_watches()
        await trio.sleep(30)
        lab.expire()
        await trio.sleep(120)
        calls.clear()
        replace(lab.server, widget("a", labels={"app": "web"}, size=2))
        with trio.move_on_after(HOUR):
            while not calls["a"] or claim(lab):  # noqa: ASYNC110  # it polls the server
                await trio.sleep(10)
        lab.check(calls["a"], "a changed object was not reconciled within an hour")
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    lab.check(not claim(lab), claim(lab))


def _one_each(lab: Lab) -> str:
    owners = Counter(each["metadata"]["ownerReferences"][0]["name"] for each in children(lab))
    return "" if owners == {"a": 1, "b": 1} else f"children by owner: {dict(owners)}, and not one each"


def doing(verb: str, body: Body, claim: Claim, title: str = "", **options: Any) -> Scenario:
    """Return the scenario of a controller that does this."""

    @on_widgets(f"controller, {title or f'ctx.{verb}'}", *((f"{CONTEXT}.{verb}",) if verb else ()), **options)
    async def scenario(lab: Lab) -> None:
        await reconcile_all(lab, body, claim)

    return scenario


def _child(obj: Unstructured, value: object) -> Object:
    return config(f"{obj.name}-child", value=str(value))


async def _create(ctx: Context, obj: Unstructured) -> None:
    if not ctx.owned():
        body = config("", value="1")
        await ctx.create({**body, "metadata": {"generateName": f"{obj.name}-", "namespace": "default"}})


async def _apply(ctx: Context, obj: Unstructured) -> None:
    await ctx.apply(_child(obj, obj["spec"].get("size")))


async def _apply_owned(ctx: Context, obj: Unstructured) -> None:
    await ctx.apply_owned([_child(obj, obj["spec"].get("size"))])


async def _update(ctx: Context, obj: Unstructured) -> None:
    if obj["spec"].get("size") == 2:
        await ctx.update(obj.evolve(spec={"size": 3}))


async def _patch(ctx: Context, obj: Unstructured) -> None:
    if obj["spec"].get("size") == 2:
        await ctx.patch(obj, {"spec": {"size": 3}})


def _patched(lab: Lab) -> str:
    size = lab.server.get(WIDGETS, "a", "default")["spec"]["size"]
    return "" if size == 3 else "the reconciled object was not changed within an hour"


async def _set_status(ctx: Context, obj: Unstructured) -> None:
    await ctx.set_status(obj, {"size": obj["spec"].get("size")})


async def _set_conditions(ctx: Context, obj: Unstructured) -> None:
    await ctx.set_conditions(obj, StatusCondition("Ready", obj["spec"].get("size") == 2, "Sized"))


def _with_status(lab: Lab) -> str:
    live = lab.server.get(WIDGETS, "a", "default")
    status = live.get("status", {})
    wanted = status.get("size") == 2 or [each["status"] for each in status.get("conditions", [])] == ["True"]
    return "" if wanted else "the status was not written within an hour"


async def _delete(ctx: Context, obj: Unstructured) -> None:
    if obj["spec"].get("size") == 1:
        await _create(ctx, obj)
    else:
        for child in ctx.owned():
            await ctx.delete(child)


def _deleted(lab: Lab) -> str:
    owners = {each["metadata"]["ownerReferences"][0]["name"] for each in children(lab)}
    return "" if owners == {"b"} else f"within an hour the owners of children are {sorted(owners)}, and not b"


async def _wrote(ctx: Context, obj: Unstructured) -> None:
    live = await ctx.client.resource(WIDGETS).get(obj.name, namespace=obj.namespace)
    if live["spec"].get("size") == 2:
        await ctx.wrote(await ctx.client.resource(WIDGETS).patch(obj.name, {"spec": {"size": 3}}))


def _of_verbs(line: str) -> bool:
    """Leave out the requests of informers, which are those of every controller."""
    return not line.startswith("GET ") or "/namespaces/" in line


verbs = (
    doing("create", _create, _one_each),
    doing("apply", _apply, _one_each, sweeps=_of_verbs),
    doing("apply_owned", _apply_owned, _one_each, sweeps=_of_verbs),
    doing("update", _update, _patched, sweeps=_of_verbs),
    doing("patch", _patch, _patched, sweeps=_of_verbs),
    doing("set_status", _set_status, _with_status, sweeps=_of_verbs),
    doing("set_conditions", _set_conditions, _with_status, sweeps=_of_verbs),
    doing("delete", _delete, _deleted, sweeps=_of_verbs),
    doing("wrote", _wrote, _patched, sweeps=_of_verbs),
)


def _alice(server: Any) -> None:
    widgets(server)
    for resource, verbs_ in (("widgets.example.com", ["get", "list", "watch"]), ("configmaps", ["*"])):
        server.grant("alice", verbs=verbs_, resource=resource)


without_rights = doing(
    "",
    _create,
    _one_each,
    "ctx.create, user without CRD permissions",
    prepare=_alice,
    user="alice",
    server={"rbac": True},
)


@on_widgets("controller, an event", "dynkube.controllers.run", "dynkube.controllers.run(events)", sweeps=_of_verbs)
async def with_events(lab: Lab) -> None:
    async def body(ctx: Context, obj: Unstructured) -> Result:
        ctx.event("Seen", "it was reconciled")
        return Requeue(after=300)

    def recorded(lab: Lab) -> str:
        return "" if lab.server.list("events.events.k8s.io", "default") else "no event was recorded within an hour"

    await reconcile_all(lab, body, recorded, events=True)


@on_widgets("controller, leader election", "dynkube.controllers.run(election)", sweeps=lambda line: "leases" in line)
async def elected(lab: Lab) -> None:
    election = LeaderElection("sweep", identity="one")
    await reconcile_all(lab, _create, _one_each, election=election)


@on_widgets("controller, shards", "dynkube.controllers.run(sharding)", sweeps=lambda line: "/widgets" in line)
async def sharded(lab: Lab) -> None:
    await reconcile_all(lab, _create, _one_each, sharding=HashShard(0, 1))


@on_widgets("leader election", "dynkube.controllers.LeaderElector.leadership")
async def leadership(lab: Lab) -> None:
    lab.opened()
    elector = LeaderElector(lab.client, LeaderElection("sweep", identity="one"), rng=Random(7), now=now)
    async with elector.leadership():
        for _ in range(60):
            await trio.sleep(1)
            holder = lab.server.get("leases", "sweep", "default")["spec"].get("holderIdentity")
            lab.check(holder == "one", f"leads while the Lease is held by {holder!r}")


@on_widgets("event recorder", "dynkube.controllers.EventRecorder.run")
async def recorder(lab: Lab) -> None:
    lab.opened()
    about = Unstructured(lab.server.get(WIDGETS, "a", "default"))
    events = EventRecorder(lab.client, controller="example.com/sweep", instance="sweep-1", now=now, rng=Random(7))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(events.run)
        for _ in range(3):
            events.event(about, "Seen", "it was seen")
            await trio.sleep(30)
        await trio.sleep(HOUR)
        nursery.cancel_scope.cancel()
    recorded = lab.server.audit
    sent = [each for each in recorded if each.verb == "create" and each.status == 201 and "events" in each.path]
    dropped = sum(events.statistics().dropped.values())
    lab.check(sent or dropped, "an event is neither recorded nor counted as dropped")
    if dropped:
        lab.note(f"dropped and counted: {', '.join(events.statistics().dropped)}")
