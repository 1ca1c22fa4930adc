"""Two instances work at the same time, as one that has lost its lease goes on.

An instance starts its controller when it is elected, and logs that it has lost the election. Another one takes over,
both see the next tenant, and each of them creates a pool. Fixed: the work ends with the leadership, and the process
too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

import trio

import dynkube
from dynkube.controllers import Context, Controller, LeaderElection, LeaderElector, LeadershipLost, ObjectKey
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, configmap, custom, definition, running


async def reconcile(ctx: Context, key: ObjectKey) -> None:
    if ctx.get() is None:
        return
    pools = await ctx.client.resource("configmaps").list(namespace=key.namespace, label_selector={"tenant": key.name})
    if not pools:
        await trio.sleep(1)  # the pool is made outside of the cluster
        await ctx.create(configmap({"generateName": f"pool-{key.name}-", "labels": {"tenant": key.name}}))


def tenants() -> Controller:
    return Controller("tenants.example.com", reconcile, owns=["configmaps"])


def instance(identity: str) -> Program:
    election = LeaderElection("tenants", namespace="default", identity=identity, retry_period=5)
    return running(tenants(), election=election)


def instance_that_goes_on(identity: str) -> Program:
    election = LeaderElection("tenants", namespace="default", identity=identity, retry_period=5)

    async def elect(client: dynkube.Client, elected: trio.Event) -> None:
        elector = LeaderElector(client, election, rng=Random(0), now=lambda: datetime.now(UTC))
        try:
            async with elector.leadership():
                elected.set()
                await trio.sleep_forever()
        except LeadershipLost as error:
            logging.getLogger(__name__).warning("%s", error)

    async def program(client: dynkube.Client) -> None:
        elected = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(elect, client, elected)
            await elected.wait()
            await running(tenants())(client)

    return program


async def scenario(run: PerturbedRun, new: Callable[[str], Program]) -> None:
    run.server.create(definition("Tenant"))
    run.start(new("a"))
    run.start(new("b"))
    for name in ("red", "blue"):
        run.server.create(custom("Tenant", name))
        await run.settle(quiet=90)


BUG = Bug(
    issue="https://github.com/minio/operator/pull/2309",
    plan="lost_lease(at=5, seconds=60)",
    scenario=scenario,
    buggy=instance_that_goes_on,
    fixed=instance,
)
