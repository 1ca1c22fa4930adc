"""Correct controllers that own what they create."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import trio

from dynkube.controllers import BlockingContext, Context, Controller, LeaderElection, ObjectKey, StatusCondition
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.correct.kit import change, cluster_scoped, create, delete, sized
from tests.testing.perturbation.zoo.kit import configmap, custom, definition, running

READY = StatusCondition("Ready", True, "AllThere")


def ships(key: ObjectKey, size: int) -> list[dict[str, Any]]:
    return [configmap({"name": f"{key.name}-{number}"}, size=str(size)) for number in range(size)]


async def keep_ships(ctx: Context, key: ObjectKey) -> None:
    if (fleet := ctx.get()) is not None:
        await ctx.apply_owned(ships(key, fleet["spec"]["size"]))
        await ctx.set_status(fleet, {"size": fleet["spec"]["size"]}, conditions=[READY])


def keep_ships_in_a_thread(ctx: BlockingContext, key: ObjectKey) -> None:
    if (fleet := ctx.get()) is not None:
        ctx.apply_owned(ships(key, fleet["spec"]["size"]))
        time.sleep(0.001)  # what takes real time in a thread takes no virtual time
        ctx.set_status(fleet, {"size": fleet["spec"]["size"]}, conditions=[READY])


async def keep_versions(ctx: Context, key: ObjectKey) -> None:
    """Own one object per content, with its hash in the name: what changes is created anew."""
    if (site := ctx.get()) is not None:
        content = str(site["spec"]["size"])
        name = f"{key.name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
        await ctx.apply_owned([{**configmap({"name": name}, content=content), "immutable": True}])
        await ctx.set_status(site, {"current": name})


async def keep_tenant(ctx: Context, key: ObjectKey) -> None:
    if (tenant := ctx.get()) is not None:
        quota = configmap({"name": f"quota-{key.name}", "namespace": "tenants"}, size=str(tenant["spec"]["size"]))
        await ctx.apply_owned([quota])


async def keep_items(ctx: Context, key: ObjectKey) -> None:
    """Own custom resources of another controller, and say how many of them are done."""
    if (order := ctx.get()) is not None:
        items = [custom("Item", f"{key.name}-{number}", of=key.name) for number in range(order["spec"]["size"])]
        found = await ctx.apply_owned(items)
        done = sum(item.get("status", {}).get("phase") == "Done" for item in found)
        await ctx.set_status(order, {"done": done})


async def do_item(ctx: Context, key: ObjectKey) -> None:
    if (item := ctx.get()) is not None:
        await ctx.set_status(item, {"phase": "Done"})


async def tenants(run: PerturbedRun) -> None:
    run.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenants"}})
    run.server.create(cluster_scoped("Tenant"))
    run.start(running(Controller("tenants.example.com", keep_tenant, owns=["configmaps"])))
    await create(run, custom("Tenant", "a", size=1))
    await create(run, custom("Tenant", "b", size=1))
    await run.settle()
    await change(run, "tenants.example.com", "a", None, spec={"size": 2})
    await delete(run, "tenants.example.com", "b", None)
    await run.settle()


async def orders(run: PerturbedRun) -> None:
    items = Controller("items.example.com", do_item)
    run.server.create(definition("Item"))
    await sized(running(Controller("orders.example.com", keep_items, owns=["items.example.com"]), items), "Order")(run)


async def led(run: PerturbedRun) -> None:
    election = LeaderElection("fleets", namespace="default", identity="a", retry_period=5)
    run.server.create(definition("Fleet"))
    run.start(running(Controller("fleets.example.com", keep_ships, owns=["configmaps"]), election=election))
    await create(run, custom("Fleet", "a", size=2))
    await trio.sleep(2)
    await change(run, "fleets.example.com", "a", spec={"size": 1})
    await run.settle(quiet=90)


fleets = sized(running(Controller("fleets.example.com", keep_ships, owns=["configmaps"], concurrency=2)))
blocking_fleets = sized(
    running(Controller("fleets.example.com", keep_ships_in_a_thread, owns=["configmaps"], concurrency=3, timeout=60))
)
versions = sized(running(Controller("sites.example.com", keep_versions, owns=["configmaps"])), "Site")
