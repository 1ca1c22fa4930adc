"""An HTTPRoute that ``kubectl apply --server-side`` and dynkube both apply."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Change, ResourceClient, Unstructured, extract, owners
from dynkube.errors import ApplyConflict
from tests.contract.beside_kubectl.conftest import Kubectl

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(240),
    pytest.mark.since("1.21", "the CRD of HTTPRoutes is invalid, as defaults of '' become null"),
]

API = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}
# With the defaults of the CRD, as an atomic list is owned with its defaults, and extract() returns them.
GATEWAY = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw"}
BACKEND = {"group": "", "kind": "Service", "name": "shop", "port": 8080, "weight": 1}
RULES = [{"backendRefs": [BACKEND], "matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}]


def team(*hosts: str) -> dict[str, Any]:
    """Return the manifest that a team applies with kubectl."""
    metadata = {"name": "shop", "labels": {"team": "web"}}
    return {**API, "metadata": metadata, "spec": {"hostnames": list(hosts), "parentRefs": [GATEWAY]}}


def traffic(*hosts: str) -> dict[str, Any]:
    """Return the manifest that a traffic controller applies with dynkube."""
    metadata = {"name": "shop", "annotations": {"traffic.example.com/plan": "canary"}}
    spec: dict[str, Any] = {"rules": RULES}
    return {**API, "metadata": metadata, "spec": {**spec, "hostnames": list(hosts)} if hosts else spec}


def holders(obj: Unstructured) -> dict[str, list[str]]:
    return {str(path): [each.name for each in found] for path, found in owners(obj).items()}


def without_namespace(obj: Unstructured) -> dict[str, Any]:
    document = obj.to_dict()
    del document["metadata"]["namespace"]
    return document


@pytest.fixture
async def shared(kubectl: Kubectl, routes: ResourceClient) -> Unstructured:
    """The object after both have applied different fields of it."""
    await kubectl.apply(team("a.example"))
    return await routes.apply(traffic())


async def test_a_conflict_shows_kubectl_and_both_values(routes: ResourceClient, shared: Unstructured) -> None:
    with pytest.raises(ApplyConflict) as caught:
        await routes.apply(traffic("b.example"))

    (conflict,) = caught.value.conflicts
    assert (conflict.path, conflict.ours, conflict.live) == (".spec.hostnames", ["b.example"], ["a.example"])
    assert (conflict.manager, conflict.operation) == ("kubectl", "Apply")
    assert conflict.time is not None
    assert '["b.example"]  ["a.example"]  kubectl' in caught.value.table()


async def test_only_the_forced_path_is_taken_over(routes: ResourceClient, shared: Unstructured) -> None:
    before = holders(shared)

    taken = await routes.apply(traffic("b.example"), force=[".spec.hostnames"])

    assert (taken.change, taken["spec"]["hostnames"]) == (Change.CHANGED, ["b.example"])
    assert holders(taken) == {**before, ".spec.hostnames": ["traffic"]}
    assert (before[".spec.hostnames"], before[".spec.rules"]) == (["kubectl"], ["traffic"])


async def test_extract_returns_the_manifest_of_each_manager(routes: ResourceClient, shared: Unstructured) -> None:
    assert without_namespace(extract(shared, "kubectl")) == team("a.example")
    assert without_namespace(extract(shared, "traffic")) == traffic()


async def test_kubectl_gets_a_conflict_until_the_field_is_transferred_to_it(
    kubectl: Kubectl, routes: ResourceClient, shared: Unstructured
) -> None:
    await routes.apply(traffic("b.example"), force=[".spec.hostnames"])
    output = await kubectl.apply(team("c.example"), code=1)
    assert 'conflict with "traffic": .spec.hostnames' in output

    await routes.transfer_fields("shop", "traffic", "kubectl", ".spec.hostnames")
    await kubectl.apply(team("c.example"))
    await routes.apply(traffic())

    live = await routes.get("shop")
    assert live["spec"]["hostnames"] == ["c.example"]
    assert holders(live) == holders(shared)


async def test_after_a_transfer_both_apply_without_conflicts(
    kubectl: Kubectl, routes: ResourceClient, shared: Unstructured
) -> None:
    await routes.transfer_fields("shop", "kubectl", "traffic", ".spec.hostnames")
    for host in ("d.example", "e.example"):
        await routes.apply(traffic(host))
        own = team()
        del own["spec"]["hostnames"]
        await kubectl.apply(own)

    live = await routes.get("shop")

    assert without_namespace(extract(live, "traffic")) == traffic("e.example")
    assert holders(live) == {**holders(shared), ".spec.hostnames": ["traffic"]}
