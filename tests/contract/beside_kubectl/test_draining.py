"""Draining of a node: dynkube evicts, skips and refuses the pods that kubectl does."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynkube import Client
from dynkube.workloads import DrainError, DrainReport
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.cluster import Cluster
from tests.contract.objects import pod
from tests.workloads.kit import workload

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

FLAGS = {
    "ignore_daemonsets": "--ignore-daemonsets",
    "delete_emptydir_data": "--delete-emptydir-data",
    "force": "--force",
    "disable_eviction": "--disable-eviction",
}


@pytest.fixture
async def node(cluster: Cluster, client: Client) -> str:
    """A node with a pod of a ReplicaSet, one of a DaemonSet, one without a controller, and one with an emptyDir."""
    name = f"node-{cluster.namespace}"
    await client.resource("nodes").create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    owners = {}
    for kind in ("ReplicaSet", "DaemonSet"):
        created = await client.resource(kind).create(workload(kind, kind.lower()))
        owners[kind] = {"apiVersion": "apps/v1", "kind": kind, "name": created.name, "uid": created.uid}
    cache: dict[str, Any] = {"volumes": [{"name": "cache", "emptyDir": {}}]}
    for own, kind, spec in (
        ("rs", "ReplicaSet", {}),
        ("ds", "DaemonSet", {}),
        ("alone", "", {}),
        ("cache", "ReplicaSet", cache),
    ):
        obj = pod(own, nodeName=name, terminationGracePeriodSeconds=0, **spec)
        if kind:
            obj["metadata"]["ownerReferences"] = [{**owners[kind], "controller": True}]
        await client.resource("pods").create(obj)
    return name


async def drained(client: Client, node: str, **options: Any) -> DrainReport:
    """Drain the node, and return the report, also of a drain that was refused."""
    try:
        return await client.drain(node, **options)
    except DrainError as exc:
        return exc.report


def named(report: DrainReport, outcome: str) -> set[str]:
    return {each.object.name for each in report.pods if each.outcome == outcome}


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["ignore_daemonsets"],
        ["ignore_daemonsets", "force"],
        ["ignore_daemonsets", "delete_emptydir_data"],
        ["ignore_daemonsets", "delete_emptydir_data", "force"],
        ["force", "delete_emptydir_data"],
    ],
    ids="+".join,
)
async def test_the_same_pods_are_evicted_skipped_or_refused(
    cluster: Cluster, client: Client, kubectl: Kubectl, node: str, given: list[str]
) -> None:
    ours = await drained(client, node, dry_run=True, **dict.fromkeys(given, True))
    refused = named(ours, "refused")
    options = [FLAGS[each] for each in given]
    theirs = await kubectl.run("drain", node, "--dry-run=server", *options, code=1 if refused else 0)

    errors = " ".join(line for line in theirs.splitlines() if "cannot delete" in line)
    assert set(re.findall(rf"{cluster.namespace}/(\w+)", errors)) == refused
    evicted = set() if refused else named(ours, "evicted")
    assert set(re.findall(r"evicting pod [^/]*/(\S+)", theirs)) == evicted


@pytest.mark.parametrize("disable_eviction", [False, True])
async def test_a_node_that_was_drained_is_drained_for_kubectl(
    client: Client, kubectl: Kubectl, node: str, disable_eviction: bool
) -> None:
    options = {"ignore_daemonsets": True, "delete_emptydir_data": True, "force": True, "grace_period": 0}

    report = await client.drain(node, **options, disable_eviction=disable_eviction)  # type: ignore[arg-type]

    assert (named(report, "evicted"), named(report, "skipped")) == ({"rs", "alone", "cache"}, {"ds"})
    again = await kubectl.run("drain", node, "--ignore-daemonsets")
    assert "evicting" not in again
    assert (await client.resource("nodes").get(node))["spec"]["unschedulable"] is True
    await client.uncordon(node)
    assert "already uncordoned" in await kubectl.run("uncordon", node)
