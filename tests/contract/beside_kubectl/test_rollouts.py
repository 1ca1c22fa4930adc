"""Rollouts: dynkube decides, restarts and rolls back as ``kubectl rollout`` does."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Client, Unstructured
from dynkube.workloads import RolloutPhase
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.workloads.kit import KINDS, new_controller_revision, new_replica_set, with_status, workload

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
REVISIONS = {"currentRevision": "web-1", "updateRevision": "web-2"}
ROLLING = {"type": "RollingUpdate"}
NODES = {"currentNumberScheduled": 3, "numberMisscheduled": 0, "desiredNumberScheduled": 3, "numberReady": 2}
PARTITION = {"updateStrategy": {**ROLLING, "rollingUpdate": {"partition": 1}}}
STATES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Deployment", {"replicas": 3}, {"observedGeneration": 0}),
    ("Deployment", {"replicas": 3}, {"replicas": 3, "updatedReplicas": 1}),
    ("Deployment", {"replicas": 3}, {"replicas": 4, "updatedReplicas": 3}),
    ("Deployment", {"replicas": 3}, {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2}),
    ("Deployment", {"replicas": 3}, {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}),
    ("Deployment", {"replicas": 3}, {"replicas": 3, "updatedReplicas": 1, "conditions": [LATE]}),
    ("Deployment", {"replicas": 0}, {}),
    ("StatefulSet", {"replicas": 3}, {"replicas": 0, "observedGeneration": 0}),
    ("StatefulSet", {"replicas": 3}, {"replicas": 3, "readyReplicas": 1}),
    ("StatefulSet", {"replicas": 3}, {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 2, **REVISIONS}),
    ("StatefulSet", {"replicas": 3, **PARTITION}, {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1}),
    ("StatefulSet", {"replicas": 3, **PARTITION}, {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 2}),
    ("StatefulSet", {"replicas": 1, "updateStrategy": {"type": "OnDelete"}}, {"replicas": 1}),
    ("DaemonSet", {}, {**NODES, "observedGeneration": 0}),
    ("DaemonSet", {}, {**NODES, "updatedNumberScheduled": 1}),
    ("DaemonSet", {}, {**NODES, "updatedNumberScheduled": 3, "numberAvailable": 2}),
    ("DaemonSet", {}, {**NODES, "updatedNumberScheduled": 3, "numberAvailable": 3}),
    ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, NODES),
]
FAILED = {RolloutPhase.FAILED, RolloutPhase.UNSUPPORTED}


@pytest.mark.parametrize(("kind", "spec", "status"), STATES)
async def test_the_status_is_that_of_kubectl(
    client: Client, kubectl: Kubectl, kind: str, spec: dict[str, Any], status: dict[str, Any]
) -> None:
    created = await client.resource(KINDS[kind]).create(workload(kind, **spec))
    await with_status(client, created, status)

    ours = await client.rollout(KINDS[kind], "web").status()
    failed = ours.phase in FAILED
    theirs = await kubectl.run("rollout", "status", f"{kind}/web", "--watch=false", code=1 if failed else 0)

    assert theirs.removeprefix("error: ").strip() == ours.message


async def test_waiting_ends_in_the_state_in_which_kubectl_ends(client: Client, kubectl: Kubectl) -> None:
    created = await client.resource("deploy").create(workload(replicas=1))
    done = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    await with_status(client, created, done)

    ours = await client.rollout("deploy", "web").wait(timeout=30)

    assert ours.complete
    assert await kubectl.run("rollout", "status", "deploy/web", "--timeout=30s") == f"{ours.message}\n"


@pytest.fixture
async def rolled(client: Client) -> Unstructured:
    """A Deployment with three revisions."""
    created = await client.resource("deploy").create(workload(image="app:3"))
    for number, cause in ((1, "first"), (2, ""), (3, "third")):
        await new_replica_set(client, created, number, f"app:{number}", cause)
    return created


async def test_the_history_of_a_deployment_is_that_of_kubectl(
    client: Client, kubectl: Kubectl, rolled: Unstructured
) -> None:
    history = await client.rollout("deploy", "web").history()

    printed = await kubectl.run("rollout", "history", "deploy/web")
    theirs = [line.split() for line in printed.splitlines() if line[:1].isdigit()]
    assert theirs == [[str(each.number), each.change_cause or "<none>"] for each in history]
    assert [each.number for each in history if each.current] == [3]


@pytest.mark.parametrize("number", [None, 1])
async def test_an_undo_writes_what_kubectl_writes(
    client: Client, kubectl: Kubectl, rolled: Unstructured, number: int | None
) -> None:
    deployments = client.resource("deploy")
    option = [] if number is None else [f"--to-revision={number}"]
    planned = await client.rollout("deploy", "web").undo(number, dry_run=True)
    await kubectl.run("rollout", "undo", "deploy/web", *option)
    theirs = await deployments.get("web")

    again = await client.rollout("deploy", "web").undo(number or 2)

    assert theirs["spec"] == planned["spec"]
    assert theirs.annotations == planned.annotations
    assert theirs["spec"]["template"]["spec"]["containers"][0]["image"] == f"app:{number or 2}"
    assert again.resource_version == theirs.resource_version


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
async def test_an_undo_by_a_controller_revision_writes_what_kubectl_writes(
    client: Client, kubectl: Kubectl, kind: str
) -> None:
    created = await client.resource(KINDS[kind]).create(workload(kind, image="app:2"))
    for number in (1, 2):
        await new_controller_revision(client, created, number, f"app:{number}")
    rollout = client.rollout(KINDS[kind], "web")

    history = await rollout.history()
    planned = await rollout.undo(dry_run=True)
    await kubectl.run("rollout", "undo", f"{kind}/web")

    theirs = await client.resource(KINDS[kind]).get("web")
    assert [(each.number, each.current, each.images) for each in history] == [
        (1, False, ("app:1",)),
        (2, True, ("app:2",)),
    ]
    assert theirs["spec"] == planned["spec"] != created["spec"]


async def test_what_kubectl_pauses_is_resumed_and_restarted(client: Client, kubectl: Kubectl) -> None:
    await client.resource("deploy").create(workload())
    rollout = client.rollout("deploy", "web")

    await kubectl.run("rollout", "pause", "deploy/web")
    assert (await rollout.status()).reasons == ("paused",)
    await rollout.resume()
    await kubectl.run("rollout", "resume", "deploy/web", code=1)  # "is not paused"
    ours = await rollout.restart(dry_run=True)
    await kubectl.run("rollout", "restart", "deploy/web")

    theirs = await client.resource("deploy").get("web")
    assert set(ours["spec"]["template"]["metadata"]["annotations"]) == set(
        theirs["spec"]["template"]["metadata"]["annotations"]
    )
