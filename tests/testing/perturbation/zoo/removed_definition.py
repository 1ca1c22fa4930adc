"""A program stops watching a resource when its CRD is removed, and does not start again when it is back.

The watch outlasts an absence of a minute.
Fixed: an informer that is empty until the CRD is installed, and live from then on.
"""

from __future__ import annotations

import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey
from dynkube.errors import NoMatch, NotFound
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, custom, definition, running

BACKUPS = "backups.example.com"


async def watch_until_removed(client: dynkube.Client) -> None:
    backups = client.resource(BACKUPS)
    try:
        async with backups.watch(bookmarks=False) as events:
            async for event in events:
                if isinstance(event, dynkube.Added) and "status" not in event.object:
                    done = {"status": {"phase": "Done"}}
                    await backups.subresource("status").patch(event.object.name, done, namespace=event.object.namespace)
    except (NoMatch, NotFound):
        await trio.sleep_forever()  # the resource is no longer served, and other controllers of the program go on


async def reconcile(ctx: Context, key: ObjectKey) -> None:
    backup = ctx.get()
    if backup is not None:
        await ctx.set_status(backup, {"phase": "Done"})


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Backup"))
    run.start(program)
    run.server.create(custom("Backup", "monday"))
    await run.settle()
    run.server.create(custom("Backup", "tuesday"))
    await run.settle()


BUG = Bug(
    issue="https://github.com/kubernetes-sigs/controller-runtime/issues/2983",
    plan="crd(at=2, resource=backups.example.com, seconds=120)",
    scenario=scenario,
    buggy=watch_until_removed,
    fixed=running(Controller(BACKUPS, reconcile)),
)
