"""An address stays allocated for ever, as the finalizer is added after it was allocated.

If the operator stops in between, and the claim is deleted before it is back, nothing releases the address, which is
outside of the claim's namespace and cannot be owned by it. Fixed: the finalizer is added first, and addresses without
a claim are released as well, as the operator may have allocated one for a claim that was deleted already.
"""

from __future__ import annotations

import trio

from dynkube.controllers import Context, Controller, ObjectKey, Watch
from dynkube.errors import NotFound
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, configmap, custom, definition, running, tried

FINALIZER = "example.com/address"
CLAIMS, NETBOX = "addressclaims.example.com", "netbox"


async def allocate(ctx: Context, key: ObjectKey) -> None:
    if ctx.get(ObjectKey(NETBOX, key.name), resource="configmaps") is None:
        await ctx.create(configmap({"name": key.name, "namespace": NETBOX}, address="10.0.0.1"), owned=False)


async def release(ctx: Context, key: ObjectKey) -> None:
    try:
        await ctx.client.resource("configmaps").delete(key.name, namespace=NETBOX)
    except NotFound:
        ctx.log.debug("it is released already")


async def allocate_and_mark(ctx: Context, key: ObjectKey) -> None:
    claim = ctx.get()
    if claim is None:
        return
    finalizers = [*claim["metadata"].get("finalizers", [])]
    if claim.deletion_timestamp is not None and FINALIZER in finalizers:
        await release(ctx, key)
        await ctx.patch(claim, {"metadata": {"finalizers": None}})
    elif claim.deletion_timestamp is None:
        await allocate(ctx, key)
        if FINALIZER not in finalizers:
            await ctx.patch(claim, {"metadata": {"finalizers": [FINALIZER]}})


async def allocate_or_release(ctx: Context, key: ObjectKey) -> None:
    if ctx.get() is not None:
        await allocate(ctx, key)
        return
    try:
        await ctx.client.resource(CLAIMS).get(key.name, namespace=key.namespace)  # the cache may not have it yet
    except NotFound:
        await release(ctx, key)


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NETBOX}})
    run.server.create(definition("AddressClaim"))
    run.start(program)
    run.server.create(custom("AddressClaim", "web"))
    await trio.sleep(2)
    await tried(lambda: run.server.delete(CLAIMS, "web"))
    await run.settle()


WATCHES = [Watch("configmaps", namespace=NETBOX, to=lambda address: [ObjectKey("default", address.name)])]
BUG = Bug(
    issue="https://github.com/netbox-community/netbox-operator/issues/77",
    plan="crash(at=1, how=processed, seconds=30)",
    scenario=scenario,
    buggy=running(Controller(CLAIMS, allocate_and_mark, watches=WATCHES)),
    fixed=running(Controller(CLAIMS, allocate_or_release, watches=WATCHES, finalizer=(FINALIZER, release))),
)
