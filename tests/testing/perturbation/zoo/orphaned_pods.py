"""A pod on a new node is deleted, as the pod arrives before its node, and counts as one whose node is gone.

The caches of two resources do not show the same moment. Fixed: before a pod is deleted, its node is read from the
server, as the pod garbage collector of Kubernetes does; it began without.
"""

from __future__ import annotations

import trio

from dynkube.controllers import Context, Controller, ObjectKey, Watch, to_index
from dynkube.errors import NotFound
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, pod, running


def collector(*, asks_server: bool) -> Program:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found = ctx.get()
        if found is None or ctx.get(node := found["spec"]["nodeName"], resource="nodes") is not None:
            return
        if asks_server:
            try:
                await ctx.client.resource("nodes").get(node)
            except NotFound:
                ctx.log.info("the node %s is gone", node)
            else:
                return  # reconciled again when the cache has the node
        await ctx.client.resource("pods").delete(
            found.name, namespace=found.namespace, uid=found.uid, grace_period_seconds=0
        )

    on_node = Watch("nodes", to=to_index("node", same_namespace=False))
    return running(Controller("pods", reconcile, watches=[on_node], indexes={"node": "{.spec.nodeName}"}))


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.start(program)
    for name in ("a", "b"):
        run.server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await trio.sleep(1)
        run.server.create(pod(f"web-{name}", node=name))
        await trio.sleep(1)
    await run.settle()
    run.server.delete("nodes", "a")
    await run.settle()


BUG = Bug(
    issue="https://github.com/kubernetes/kubernetes/pull/22667",
    plan="lag(at=1, resource=nodes, seconds=5)",
    scenario=scenario,
    buggy=collector(asks_server=False),
    fixed=collector(asks_server=True),
)
