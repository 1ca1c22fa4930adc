"""Correct controllers that clean up what their objects cannot own."""

from __future__ import annotations

from dynkube.controllers import BlockingContext, Context, Controller, ObjectKey, Watch
from dynkube.errors import NotFound
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.correct.kit import sized
from tests.testing.perturbation.zoo.kit import Program, configmap, running

FINALIZER, BUCKETS, STORAGE = "example.com/bucket", "buckets.example.com", "storage"


def bucket(key: ObjectKey, size: int) -> dict[str, object]:
    return configmap({"name": f"{key.namespace}-{key.name}", "namespace": STORAGE}, size=str(size))


async def provide(ctx: Context, key: ObjectKey) -> None:
    if (found := ctx.get()) is not None:
        await ctx.apply(bucket(key, found["spec"]["size"]), owned=False)
        await ctx.set_status(found, {"size": found["spec"]["size"]})
        return
    try:
        await ctx.client.resource(BUCKETS).get(key.name, namespace=key.namespace)  # the cache may be behind
    except NotFound:
        await release(ctx, key)  # its finalizer was removed by force


async def release(ctx: Context, key: ObjectKey) -> None:
    try:
        await ctx.client.resource("configmaps").delete(f"{key.namespace}-{key.name}", namespace=STORAGE)
    except NotFound:
        ctx.log.debug("it is released already")


def provide_in_a_thread(ctx: BlockingContext, key: ObjectKey) -> None:
    if (found := ctx.get()) is not None:
        ctx.apply(bucket(key, found["spec"]["size"]), owned=False)
        ctx.set_status(found, {"size": found["spec"]["size"]})
    else:
        release_in_a_thread(ctx, key)  # it was provided from a cache that was behind, or its finalizer removed by force


def release_in_a_thread(ctx: BlockingContext, key: ObjectKey) -> None:
    name = f"{key.namespace}-{key.name}"
    if (found := ctx.get(ObjectKey(STORAGE, name), resource="configmaps")) is not None:
        ctx.delete(found)


async def stored(run: PerturbedRun, program: Program) -> None:
    run.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STORAGE}})
    await sized(program, "Bucket")(run)


def to_bucket(of: object) -> list[ObjectKey]:
    name: str = of.name  # type: ignore[attr-defined]
    return [ObjectKey(*name.split("-", 1))]


WATCHES = [Watch("configmaps", namespace=STORAGE, to=to_bucket)]


async def buckets(run: PerturbedRun) -> None:
    await stored(run, running(Controller(BUCKETS, provide, watches=WATCHES, finalizer=(FINALIZER, release))))


async def blocking_buckets(run: PerturbedRun) -> None:
    controller = Controller(
        BUCKETS,
        provide_in_a_thread,
        watches=WATCHES,
        finalizer=(FINALIZER, release_in_a_thread),
        concurrency=2,
    )
    await stored(run, running(controller))
