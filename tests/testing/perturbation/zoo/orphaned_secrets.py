"""Each failed attempt leaves another secret behind, as only the last step records which one belongs to the account.

The operator creates a secret under a name of the server, sends the account to another system, and records the secret.
If that fails, it begins anew. Fixed: the name of the secret follows from that of the account, so that it is found
again.
"""

from __future__ import annotations

from dynkube.controllers import Context, Controller, ObjectKey
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, configmap, custom, definition, running


async def send_and_record(ctx: Context, key: ObjectKey, secret: str) -> None:
    account = ctx.get()
    if account is not None:
        await ctx.apply(configmap({"name": f"nats-{key.name}"}, account=key.name))
        await ctx.set_status(account, {"ready": True})


async def create_named_by_server(ctx: Context, key: ObjectKey) -> None:
    account = ctx.get()
    if account is not None and "status" not in account:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": f"{key.name}-"}}
        stored = await ctx.create(secret)
        await send_and_record(ctx, key, stored.name)


async def apply_named_by_account(ctx: Context, key: ObjectKey) -> None:
    if ctx.get() is not None:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{key.name}-root"}}
        stored = await ctx.apply(secret)
        await send_and_record(ctx, key, stored.name)


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Account"))
    run.start(program)
    run.server.create(custom("Account", "shop"))
    await run.settle()


BUG = Bug(
    issue="https://github.com/WirelessCar/nauth/issues/83",
    plan="refuse(at=2, how=500)",
    scenario=scenario,
    buggy=running(Controller("accounts.example.com", create_named_by_server, owns=["secrets", "configmaps"])),
    fixed=running(Controller("accounts.example.com", apply_named_by_account, owns=["secrets", "configmaps"])),
)
