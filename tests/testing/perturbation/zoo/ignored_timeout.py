"""A pod is never created, as an error of the server counts as a pod that will appear.

A request to create a pod got 504, which may mean that the pod was created. The error was ignored: if the pod is
there, the informer delivers it. If it is not, nothing happens any more. Fixed: the error is raised, and the object
reconciled again.
"""

from __future__ import annotations

from dynkube.controllers import Context, Controller, ObjectKey
from dynkube.errors import ServerError
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, custom, definition, pod, running


async def keep_replicas(ctx: Context, key: ObjectKey) -> None:
    group = ctx.get()
    if group is None:
        return
    present = ctx.owned()
    for _ in range(group["spec"]["replicas"] - len(present)):
        made = pod("")
        await ctx.create({**made, "metadata": {"generateName": f"{key.name}-"}})
    for extra in present[group["spec"]["replicas"] :]:
        await ctx.delete(extra)


async def keep_replicas_despite_errors(ctx: Context, key: ObjectKey) -> None:
    try:
        await keep_replicas(ctx, key)
    except ServerError as error:
        ctx.log.debug("the pods may have been created: %s", error)


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Group"))
    run.start(program)
    run.server.create(custom("Group", "web", replicas=2))
    await run.settle()
    run.server.apply(custom("Group", "web", replicas=1))
    await run.settle()
    run.server.apply(custom("Group", "web", replicas=3))
    await run.settle()


BUG = Bug(
    issue="https://github.com/kubernetes/kubernetes/issues/67662",
    plan="refuse(at=4, how=504)",
    scenario=scenario,
    buggy=running(Controller("groups.example.com", keep_replicas_despite_errors, owns=["pods"])),
    fixed=running(Controller("groups.example.com", keep_replicas, owns=["pods"])),
)
