"""A status is never written, as a conflict is logged and nothing makes the controller try again.

Something else annotates the object while it is reconciled, so that its status is not accepted. The error is swallowed
in the belief that the other change will lead to another call, but changes of annotations are filtered out. Fixed: the
conflict is raised, and the object reconciled again.
"""

from __future__ import annotations

from dynkube.controllers import Context, Controller, ObjectKey, generation_changed
from dynkube.errors import Conflict
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, configmap, custom, definition, running


async def reconcile(ctx: Context, key: ObjectKey) -> None:
    migration = ctx.get()
    if migration is None:
        return
    version = migration["spec"]["version"]
    await ctx.apply(configmap({"name": f"schema-{key.name}"}, version=version))
    await ctx.set_status(migration, {"applied": version})


async def reconcile_and_log(ctx: Context, key: ObjectKey) -> None:
    try:
        await reconcile(ctx, key)
    except Conflict as error:
        ctx.log.warning("failed to update the status: %s", error)


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Migration"))
    run.start(program)
    run.server.create(custom("Migration", "users", version="1"))
    await run.settle()
    run.server.apply(custom("Migration", "users", version="2"))
    await run.settle()


BUG = Bug(
    issue="https://github.com/ariga/atlas/issues/3733",
    plan="conflict(at=2)",
    scenario=scenario,
    buggy=running(Controller("migrations.example.com", reconcile_and_log, predicate=generation_changed)),
    fixed=running(Controller("migrations.example.com", reconcile, predicate=generation_changed)),
)
