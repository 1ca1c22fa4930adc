"""The objects of a cluster stay for ever if it is deleted while the operator is down, as only the event deletes them.

Fixed: a finalizer keeps the cluster until the operator has deleted its objects.
"""

from __future__ import annotations

import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey
from dynkube.errors import AlreadyExists, NotFound
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, configmap, custom, definition, running, tried

CLUSTERS = "postgresqls.example.com"


async def follow_events(client: dynkube.Client) -> None:
    configmaps = client.resource("configmaps")
    async with client.informer(CLUSTERS) as clusters, clusters.events() as events:
        async for event in events:
            try:
                if isinstance(event, dynkube.Added):
                    await configmaps.create(configmap({"name": event.object.name}), namespace=event.object.namespace)
                elif isinstance(event, dynkube.Deleted):
                    await configmaps.delete(event.object.name, namespace=event.object.namespace)
            except (AlreadyExists, NotFound):
                continue  # after a restart, all clusters are added again


async def create(ctx: Context, key: ObjectKey) -> None:
    if ctx.get() is not None:
        await ctx.apply(configmap({"name": key.name}))


async def delete(ctx: Context, key: ObjectKey) -> None:
    try:
        await ctx.client.resource("configmaps").delete(key.name, namespace=key.namespace)
    except NotFound:
        ctx.log.debug("it is deleted already")


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Postgresql"))
    run.start(program)
    run.server.create(custom("Postgresql", "orders"))
    await trio.sleep(2)
    await tried(lambda: run.server.delete(CLUSTERS, "orders"))
    await run.settle()


BUG = Bug(
    issue="https://github.com/zalando/postgres-operator/issues/2678",
    plan="crash(at=1, how=processed, seconds=30)",
    scenario=scenario,
    buggy=follow_events,
    fixed=running(Controller(CLUSTERS, create, owns=["configmaps"], finalizer=("example.com/objects", delete))),
)
