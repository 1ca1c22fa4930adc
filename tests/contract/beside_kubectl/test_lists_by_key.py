"""Lists of type map or set, whose items dynkube and kubectl own separately."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Client, ResourceClient, extract, fields_of, owners
from dynkube.errors import ApplyConflict
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.cluster import Cluster

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

_RULE = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "path": {"type": "string"}, "weight": {"type": "integer"}},
}
_SPEC = {
    "hostnames": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "rules": {
        "type": "array",
        "items": _RULE,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
}
MAIN = '.spec.rules[name="main"]'


@pytest.fixture
async def routes(cluster: Cluster, client: Client) -> ResourceClient:
    """A custom resource similar to the HTTPRoutes of the Gateway API."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": _SPEC}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    await cluster.create_crd(cluster.crd("routes", "Route", versions=[version]))
    return client.resource(f"routes.v1.{cluster.group}")


def route(cluster: Cluster, hostnames: list[str], **rules: dict[str, Any]) -> dict[str, Any]:
    spec = {"hostnames": hostnames, "rules": [{"name": name, **rule} for name, rule in rules.items()]}
    metadata = {"name": "shop", "namespace": cluster.namespace}
    return {"apiVersion": f"{cluster.group}/v1", "kind": "Route", "metadata": metadata, "spec": spec}


async def test_items_of_a_list_are_shared_taken_over_and_transferred(
    cluster: Cluster, routes: ResourceClient, kubectl: Kubectl
) -> None:
    theirs = route(cluster, ["shop.example"], main={"path": "/", "weight": 1})
    ours = route(cluster, ["www.shop.example"], main={"weight": 9}, beta={"path": "/beta"})
    await kubectl.apply(theirs)

    with pytest.raises(ApplyConflict) as caught:
        await routes.apply(ours, field_manager="rollout")
    (conflict,) = caught.value.conflicts
    assert (conflict.path, conflict.ours, conflict.live) == (f"{MAIN}.weight", 9, 1)
    assert (conflict.manager, conflict.operation) == ("kubectl", "Apply")

    taken = await routes.apply(ours, field_manager="rollout", force=[f"{MAIN}.weight"])
    assert [manager.name for manager in owners(taken)[f"{MAIN}.weight"]] == ["rollout"]
    assert extract(taken, "rollout").to_dict() == ours
    expected = route(cluster, ["shop.example"], main={"path": "/"})
    assert extract(taken, "kubectl").to_dict() == expected

    await routes.transfer_fields("shop", "rollout", "kubectl", namespace=cluster.namespace)
    both = route(cluster, ["shop.example"], main={"path": "/", "weight": 5}, beta={"path": "/beta"})
    await kubectl.apply(both)
    live = await routes.get("shop", namespace=cluster.namespace)
    assert live["spec"] == both["spec"]
    assert [manager.name for manager in owners(live).managers()] == ["kubectl"]


async def test_a_client_side_apply_of_kubectl_is_migrated(
    cluster: Cluster, routes: ResourceClient, kubectl: Kubectl
) -> None:
    await kubectl.apply_from_here(route(cluster, ["a", "b"], main={"path": "/", "weight": 1}))
    smaller = route(cluster, ["a"], main={"path": "/"})

    migrated = await routes.upgrade_managed_fields("shop", "rollout", namespace=cluster.namespace)
    applied = await routes.apply(smaller, field_manager="rollout")

    assert migrated.changed
    assert applied["spec"] == smaller["spec"]
    assert not fields_of(applied, "kubectl-client-side-apply")


async def test_diffs_by_kubectl_and_dynkube_are_empty_after_an_apply(
    cluster: Cluster, routes: ResourceClient, kubectl: Kubectl
) -> None:
    theirs = route(cluster, ["shop.example"], main={"path": "/", "weight": 1})
    await kubectl.apply(theirs)

    assert await kubectl.run("diff", "--server-side", "-f", "-", manifest=theirs) == ""
    assert not await routes.diff(theirs, field_manager="kubectl")
    assert not await routes.diff_applied(theirs, "kubectl")
