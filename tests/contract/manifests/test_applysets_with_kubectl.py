"""ApplySets of dynkube and of ``kubectl apply --prune --applyset`` are compatible."""

from __future__ import annotations

import json

import pytest

import dynkube
from dynkube.manifests import ApplySet
from tests.contract.cluster import Cluster
from tests.contract.manifests.conftest import Kubectl
from tests.manifests.kit import JSONObject, config, outcomes

pytestmark = pytest.mark.timeout(120)

PRUNE = ("apply", "--server-side", "--prune", "--applyset", "set", "-f", "-")


def configs(*names: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [config(name, x="1") for name in names]})


def theirs(cluster: Cluster) -> ApplySet:
    return ApplySet("set", namespace=cluster.namespace, tooling="kubectl/v1.37.1")


def ours(cluster: Cluster) -> ApplySet:
    return ApplySet("set", namespace=cluster.namespace)


async def identity(cluster: Cluster) -> tuple[JSONObject, JSONObject]:
    """Return the labels and annotations of the parent object."""
    metadata = (await cluster.get("secrets", "set"))["metadata"]
    return metadata["labels"], metadata["annotations"]


async def members(cluster: Cluster) -> list[str]:
    return await cluster.names("configmaps", labelSelector="applyset.kubernetes.io/part-of")


async def test_both_write_the_same_parent_for_the_same_manifests(
    cluster: Cluster, client: dynkube.Client, kubectl: Kubectl
) -> None:
    await kubectl(*PRUNE, stdin=configs("a", "b"))
    by_kubectl = await identity(cluster)
    await cluster.delete("secrets", "set")

    report = await client.apply_all(
        configs("a", "b"), namespace=cluster.namespace, prune=theirs(cluster), field_manager="kubectl"
    )

    assert report.ok, report
    labels, annotations = await identity(cluster)
    tooling = by_kubectl[1].pop("applyset.kubernetes.io/tooling")
    assert tooling.startswith("kubectl/v")
    assert annotations.pop("applyset.kubernetes.io/tooling") == "kubectl/v1.37.1"
    assert (labels, annotations) == by_kubectl


async def test_both_can_prune_a_shared_set(cluster: Cluster, client: dynkube.Client, kubectl: Kubectl) -> None:
    await kubectl(*PRUNE, stdin=configs("a", "b", "c"))

    report = await client.apply_all(configs("b", "c"), namespace=cluster.namespace, prune=theirs(cluster))
    between = await members(cluster)
    output = await kubectl(*PRUNE, stdin=configs("c"))

    assert report.ok, str(report)
    assert outcomes(report)[2:] == [("pruned", "configmap/a")]
    assert between == ["b", "c"]
    assert "configmap/b pruned" in output
    assert await members(cluster) == ["c"]


async def test_kubectl_does_not_change_sets_of_dynkube(
    cluster: Cluster, client: dynkube.Client, kubectl: Kubectl
) -> None:
    await client.apply_all(configs("a", "b"), namespace=cluster.namespace, prune=ours(cluster))

    output = await kubectl(*PRUNE, stdin=configs("b"), fails=True)

    assert 'is managed by tooling "dynkube" instead of "kubectl"' in output
    assert await members(cluster) == ["a", "b"]


async def test_dynkube_does_not_change_sets_of_kubectl(
    cluster: Cluster, client: dynkube.Client, kubectl: Kubectl
) -> None:
    await kubectl(*PRUNE, stdin=configs("a", "b"))

    report = await client.apply_all(configs("b"), namespace=cluster.namespace, prune=ours(cluster))

    assert not report.ok
    assert "managed by 'kubectl/v1." in report.of("failed")[0].message
    assert await members(cluster) == ["a", "b"]


async def test_an_object_in_a_set_of_kubectl_cannot_be_added_to_another_set(
    cluster: Cluster, client: dynkube.Client, kubectl: Kubectl
) -> None:
    await kubectl(*PRUNE, stdin=configs("a"))
    another = ApplySet("another", namespace=cluster.namespace)

    report = await client.apply_all(configs("a"), namespace=cluster.namespace, prune=another, force=True)

    assert "it belongs to another ApplySet" in report[0].message


async def test_only_kubectl_prunes_an_object_to_which_its_owner_copied_the_label(
    cluster: Cluster, client: dynkube.Client, kubectl: Kubectl
) -> None:
    await kubectl(*PRUNE, stdin=configs("web"))
    web = (await cluster.get("configmaps", "web"))["metadata"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": web["uid"], "controller": True}
    copied = {"name": "of-web", "labels": web["labels"], "ownerReferences": [owner]}
    await cluster.create("configmaps", {**config("of-web"), "metadata": copied})

    report = await client.apply_all(
        configs("web"), namespace=cluster.namespace, prune=theirs(cluster), field_manager="kubectl"
    )
    output = await kubectl(*PRUNE, stdin=configs("web"))

    assert outcomes(report) == [("unchanged", "configmap/web")]
    assert "configmap/of-web pruned" in output
