"""A volume is never expanded if the operator stops between two steps, as the first one hides that there is a second.

To expand a volume, the operator deletes the StatefulSet, grows the claim, and creates the StatefulSet again. Whether to
do so is decided by the size in the StatefulSet: if the operator stopped after the first step, it creates a StatefulSet
with the new size, and forgets the claim. Fixed: the size of the claim is compared as well.
"""

from __future__ import annotations

from typing import Any

from dynkube.controllers import Context, Controller, ObjectKey, Watch
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, custom, definition, running

SETS, CLAIMS = "statefulsets.apps", "persistentvolumeclaims"


def claim_spec(size: int) -> dict[str, Any]:
    requests = {"storage": f"{size}Gi"}
    return {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": requests}}


def size_of(spec: Any) -> int:
    return int(spec["resources"]["requests"]["storage"].removesuffix("Gi"))


def stateful_set(name: str, size: int) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "mq", "image": "mq"}]}}
    claims = [{"metadata": {"name": "data"}, "spec": claim_spec(size)}]
    spec = {"selector": {"matchLabels": labels}, "template": template, "volumeClaimTemplates": claims}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


async def grow_claim(ctx: Context, key: ObjectKey, size: int) -> None:
    claim = ctx.get(f"data-{key.name}-0", resource=CLAIMS)
    if claim is not None and size_of(claim["spec"]) < size:
        await ctx.patch(claim, {"spec": {"resources": {"requests": {"storage": f"{size}Gi"}}}})


def operator(*, compares_claim: bool) -> Program:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        cluster, present = ctx.get(), ctx.get(key, resource=SETS)
        if cluster is None:
            return
        size = cluster["spec"]["storage"]
        if compares_claim:
            await grow_claim(ctx, key, size)
        if present is None:
            await ctx.create(stateful_set(key.name, size))
        elif size_of(present["spec"]["volumeClaimTemplates"][0]["spec"]) < size and not present.deletion_timestamp:
            await ctx.delete(present, propagation_policy="Orphan")
            await grow_claim(ctx, key, size)

    return running(Controller("rabbitmqs.example.com", reconcile, owns=[SETS], watches=[Watch(CLAIMS)]))


async def scenario(run: PerturbedRun, program: Program) -> None:
    fast = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    run.server.create({**fast, "provisioner": "example.com/disks", "allowVolumeExpansion": True})
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-mq-0"}}
    bound = run.server.create({**claim, "spec": {**claim_spec(10), "volumeName": "disk"}})
    run.server.update({**bound, "status": {"phase": "Bound"}}, subresource="status")
    run.server.create(definition("Rabbitmq"))
    run.start(program)
    run.server.create(custom("Rabbitmq", "mq", storage=10))
    await run.settle()
    run.server.apply(custom("Rabbitmq", "mq", storage=15))
    await run.settle()


BUG = Bug(
    issue="https://github.com/rabbitmq/cluster-operator/issues/782",
    plan="crash(at=2, how=processed, seconds=1)",
    scenario=scenario,
    buggy=operator(compares_claim=False),
    fixed=operator(compares_claim=True),
)
