"""A change is lost, as the controller writes back the whole spec that it has in its cache.

The controller fills in what the spec lacks. A change that was made since the object was read is overwritten, as the
patch has all fields of the old spec. Fixed: the patch has only what the controller decides.
"""

from __future__ import annotations

import trio

from dynkube.controllers import Context, Controller, ObjectKey
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, custom, definition, running, tried

CACHES = "caches.example.com"


def controller(*, whole_spec: bool) -> Program:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        cache = ctx.get()
        if cache is not None and "owners" not in cache["spec"]:
            decided = {"owners": 2}
            await ctx.patch(cache, {"spec": {**cache["spec"], **decided} if whole_spec else decided})

    return running(Controller(CACHES, reconcile))


def change_template(run: PerturbedRun) -> None:
    cache = run.server.get(CACHES, "sessions")
    cache["spec"]["template"] = "distributed"
    run.server.update(cache)


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Cache"))
    run.start(program)
    await trio.sleep(1)
    await tried(lambda: run.server.create(custom("Cache", "sessions", template="local")))
    await trio.sleep(2)
    await tried(lambda: change_template(run))
    await run.settle()


BUG = Bug(
    issue="https://github.com/infinispan/infinispan-operator/issues/1758",
    plan="lag(at=1, resource=caches.example.com, seconds=10)",
    scenario=scenario,
    buggy=controller(whole_spec=True),
    fixed=controller(whole_spec=False),
)
