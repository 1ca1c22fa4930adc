"""A node is left decommissioned for ever if the operator misses that a cluster was to be smaller for a while.

Scaling down takes two steps: a node is decommissioned, and deleted when that is seen. If the cluster is scaled up
again in between, the operator compares the number of nodes only, and finds nothing to do. Fixed: such a node is put
back to work.
"""

from __future__ import annotations

import trio

from dynkube.controllers import Context, Controller, ObjectKey
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, custom, definition, pod, running, tried

MARK = "example.com/decommissioned"


def operator(*, puts_back: bool) -> Program:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        cluster = ctx.get()
        if cluster is None:
            return
        nodes = sorted(ctx.owned(), key=lambda node: node.name)
        marked = [node for node in nodes if MARK in node.annotations]
        wanted = cluster["spec"]["nodes"]
        if len(nodes) > wanted:
            if marked:
                await ctx.delete(marked[0])
            else:
                await ctx.patch(nodes[-1], {"metadata": {"annotations": {MARK: "true"}}})
        elif marked and puts_back:
            await ctx.patch(marked[0], {"metadata": {"annotations": {MARK: None}}})
        elif len(nodes) < wanted:
            await ctx.create(pod(f"{key.name}-{len(nodes)}"))

    return running(Controller("cassandras.example.com", reconcile, owns=["pods"]))


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Cassandra"))
    run.start(program)
    run.server.create(custom("Cassandra", "dc", nodes=2))
    await run.settle()
    await tried(lambda: run.server.apply(custom("Cassandra", "dc", nodes=1)))
    await trio.sleep(2)  # the user changes his mind before the operator may have noticed
    await tried(lambda: run.server.apply(custom("Cassandra", "dc", nodes=2)))
    await run.settle()


BUG = Bug(
    issue="https://github.com/instaclustr/cassandra-operator/issues/410",
    plan="unobserved(at=3, resource=pods, seconds=60)",
    scenario=scenario,
    buggy=operator(puts_back=False),
    fixed=operator(puts_back=True),
)
