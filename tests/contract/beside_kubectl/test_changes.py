"""``scale``, ``label`` and ``annotate`` write what kubectl writes, and refuse what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Client
from dynkube.errors import InvalidInput, PreconditionFailed
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.cluster import Cluster
from tests.contract.objects import config, version
from tests.workloads.kit import workload

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]


async def test_a_deployment_is_scaled_from_the_number_that_it_has(client: Client, kubectl: Kubectl) -> None:
    deployments = client.resource("deploy")
    await deployments.create(workload(replicas=1))

    await kubectl.run("scale", "deploy/web", "--replicas=2", "--current-replicas=1")
    scaled = await deployments.scale("web", 3, current=2)
    await kubectl.run("scale", "deploy/web", "--replicas=4", "--current-replicas=2", code=1)
    with pytest.raises(PreconditionFailed, match="deploy 'web' has 3 replicas, not 2: it was not scaled"):
        await deployments.scale("web", 4, current=2)

    assert (scaled.kind, scaled["spec"]["replicas"]) == ("Scale", 3)
    assert (await deployments.scale("web", 0))["spec"].get("replicas", 0) == 0
    assert (await deployments.get("web"))["spec"]["replicas"] == 0


async def test_a_custom_resource_is_scaled_if_it_has_the_subresource(
    cluster: Cluster, client: Client, kubectl: Kubectl
) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    subresources = {"status": {}, "scale": scale}
    crd = cluster.crd("rings", "Ring", versions=[version(subresources=subresources)])
    await cluster.create_crd(crd)
    rings = client.resource(f"rings.v1.{cluster.group}")
    metadata: dict[str, Any] = {"name": "a", "namespace": cluster.namespace}
    ring = {"apiVersion": f"{cluster.group}/v1", "kind": "Ring", "metadata": metadata, "spec": {"size": 1}}
    await rings.create(ring)

    await rings.scale("a", 2, current=1)
    assert (await rings.get("a"))["spec"]["size"] == 2
    await kubectl.run("scale", f"rings.{cluster.group}/a", "--replicas=3")
    assert (await rings.scale("a", 5))["spec"]["replicas"] == 5


async def test_a_resource_without_the_subresource_is_not_scaled(client: Client, kubectl: Kubectl) -> None:
    await client.resource("cm").create(config("a"))

    await kubectl.run("scale", "cm/a", "--replicas=3", code=1)
    with pytest.raises(InvalidInput, match=r"configmaps\.v1 have no scale subresource"):
        await client.resource("cm").scale("a", 3)


@pytest.mark.parametrize("verb", ["label", "annotate"])
async def test_values_are_added_changed_and_removed_as_by_kubectl(client: Client, kubectl: Kubectl, verb: str) -> None:
    maps = client.resource("cm")
    for name in ("ours", "theirs"):
        await maps.create(config(name))
    change = getattr(maps, verb)

    for texts, force in (
        ({"a": "1", "b.example.com/x": "y"}, False),
        ({"a": "2", "c": "3"}, True),
        ({"c": None}, False),
    ):
        await change("ours", texts, overwrite=force)
        notation = [f"{key}-" if text is None else f"{key}={text}" for key, text in texts.items()]
        await kubectl.run(verb, "cm/theirs", *notation, *(["--overwrite"] if force else []))

    ours, theirs = await maps.get("ours"), await maps.get("theirs")
    assert ours.labels == theirs.labels
    assert ours.annotations == theirs.annotations
    assert {**ours.labels, **ours.annotations} == {"a": "2", "b.example.com/x": "y"}


@pytest.mark.parametrize("verb", ["label", "annotate"])
async def test_other_values_are_not_changed_without_overwrite(client: Client, kubectl: Kubectl, verb: str) -> None:
    maps = client.resource("cm")
    await maps.create(config("a", labels={"tier": "web"}, annotations={"tier": "web"}))
    change = getattr(maps, verb)

    await kubectl.run(verb, "cm/a", "tier=db", code=1)
    with pytest.raises(PreconditionFailed, match=r"other values of these (labels|annotations): tier=web; pass"):
        await change("a", {"tier": "db", "new": "x"})
    same = await change("a", {"tier": "web", "old": None})

    assert same.resource_version == (await maps.get("a")).resource_version
