"""A deletion that was handled long ago is seen again after a restart, and deletes the volume of the new object.

The operator deletes the claims of a deleted cluster by name. A replica of the API server that lags shows it the
deletion of an earlier cluster of this name. Fixed: a claim has the UID of its cluster, and is deleted
with that one only.
"""

from __future__ import annotations

from dynkube.controllers import Context, Controller, ObjectKey, Reconcile, Watch, to_label
from dynkube.errors import NotFound
from dynkube_testing import FAMILIES, PerturbedRun
from tests.testing.perturbation.zoo.kit import Bug, Program, custom, definition, running

FINALIZER = "example.com/volumes"
CLUSTERS, CLAIMS = "zookeepers.example.com", "persistentvolumeclaims"


async def uid_of(ctx: Context, key: ObjectKey) -> str | None:
    try:
        return (await ctx.client.resource(CLUSTERS).get(key.name, namespace=key.namespace)).uid
    except NotFound:
        return None


async def reconcile(ctx: Context, key: ObjectKey) -> None:
    cluster, present = ctx.get(), ctx.get(f"data-{key.name}", resource=CLAIMS)
    if present is not None:
        of = present.labels["cluster-uid"]
        if (cluster is None or cluster.uid != of) and await uid_of(ctx, key) != of:
            await ctx.delete(present)  # it was made when the operator did not know yet that its cluster is gone
        return
    if cluster is None:
        return
    metadata = {"name": f"data-{key.name}", "labels": {"cluster": key.name, "cluster-uid": cluster.uid}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    await ctx.create(claim, owned=False)


async def delete_by_name(ctx: Context, key: ObjectKey) -> None:
    for claim in ctx.list(CLAIMS, label_selector={"cluster": key.name}):
        await ctx.client.resource(CLAIMS).delete(claim.name, namespace=claim.namespace)


async def delete_its_own(ctx: Context, key: ObjectKey) -> None:
    cluster = ctx.get()
    assert cluster is not None, "it is being deleted"
    for claim in ctx.list(CLAIMS, label_selector={"cluster-uid": cluster.uid}):
        await ctx.delete(claim)


def operator(clean_up: Reconcile) -> Program:
    watches = [Watch(CLAIMS, to=to_label("cluster"))]
    return running(Controller(CLUSTERS, reconcile, watches=watches, finalizer=(FINALIZER, clean_up)))


async def scenario(run: PerturbedRun, program: Program) -> None:
    run.server.create(definition("Zookeeper"))
    run.start(program)
    run.server.create(custom("Zookeeper", "zk"))
    await run.settle()
    run.server.delete(CLUSTERS, "zk")
    await run.settle()
    run.server.create(custom("Zookeeper", "zk"))
    await run.settle()
    claim = run.server.get(CLAIMS, "data-zk")
    claim["metadata"]["annotations"] = {"example.com/data": "written"}
    run.server.update(claim)
    run.server.create(custom("Zookeeper", "another"))
    await run.settle()


BUG = Bug(
    issue="https://github.com/pravega/zookeeper-operator/issues/312",
    plan="stale(at=8, back=6, seconds=5)",
    scenario=scenario,
    buggy=operator(delete_by_name),
    fixed=operator(delete_its_own),
    # What is written to a volume is lost if its cluster is deleted with the CRD.
    families=[family for family in FAMILIES if family != "crd"],
)
