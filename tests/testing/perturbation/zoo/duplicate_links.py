"""Two objects are created instead of one, as the cache does not show the first one yet and the server names them.

The operator creates a link with ``generateName`` if its cache has none. It is called again before the link is in the
cache, or did not get the response to its request. Fixed: the name is computed, so that there can be only one.
"""

from __future__ import annotations

from dynkube.controllers import Context, Controller, ObjectKey, Requeue, Watch, to_label
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, configmap, custom, definition, running


def operator(*, computes_name: bool) -> Program:
    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue | None:
        recorder = ctx.get()
        if recorder is None:
            return None
        if ctx.list("configmaps", label_selector={"recorder": key.name}):
            await ctx.set_status(recorder, {"linked": True})
            return None
        name = {"name": f"link-{key.name}"} if computes_name else {"generateName": f"link-{key.name}-"}
        link = configmap({**name, "labels": {"recorder": key.name}}, url=recorder["spec"]["url"])
        # Past ctx, as client-go does: ctx.create would wait until the cache shows the link.
        await ctx.client.resource("configmaps").create(link, namespace=key.namespace)
        return Requeue(after=1)

    return running(
        Controller("recorders.example.com", reconcile, watches=[Watch("configmaps", to=to_label("recorder"))])
    )


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Recorder"))
    run.start(program)
    run.server.create(custom("Recorder", "jfr", url="https://jfr.example.com"))
    await run.settle()


BUG = Bug(
    issue="https://github.com/cryostatio/cryostat-operator/issues/163",
    plan="lag(at=1, resource=configmaps, seconds=5)",
    scenario=scenario,
    buggy=operator(computes_name=False),
    fixed=operator(computes_name=True),
)
