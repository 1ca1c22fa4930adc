"""``top_pods`` and ``top_nodes`` print what ``kubectl top`` prints."""

from __future__ import annotations

import pytest

from dynkube import Client
from dynkube.errors import NoMatch
from dynkube_testing import APIServer
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.cluster import Cluster
from tests.inspection.metrics import metrics_crds, node_metrics, pod_metrics

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]


@pytest.fixture
async def metrics(server: APIServer | None, cluster: Cluster, client: Client) -> None:
    """Metrics of two pods and a node, on a cluster of this test alone: the API group is fixed."""
    if server is None:
        pytest.skip("the metrics API would be there for all tests of that cluster")
    for definition in metrics_crds():
        await cluster.create_crd(definition)
    server.create(pod_metrics("web", cluster.namespace, app=("250m", "100Mi"), proxy=("1500001n", "28999Ki")))
    server.create(pod_metrics("db", cluster.namespace, app=("1", "2Gi")))
    server.create(node_metrics("n1", "1333m", "3999Mi"))
    created = await client.resource("nodes").create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    status = {"allocatable": {"cpu": "2", "memory": "8Gi"}, "capacity": {"cpu": "2", "memory": "8Gi"}}
    await client.resource("nodes").update_status(created.evolve(status=status))


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.usefixtures("metrics")
@pytest.mark.parametrize("order", ["cpu", "memory"])
async def test_pods_and_containers_are_those_of_kubectl(
    cluster: Cluster, client: Client, kubectl: Kubectl, order: str
) -> None:
    theirs = await kubectl.run("top", "pods", f"--sort-by={order}")
    ours = await client.top_pods(namespace=cluster.namespace, sort_by="cpu" if order == "cpu" else "memory")
    assert [row[1:] for row in cells(str(ours))] == cells(theirs)

    theirs = await kubectl.run("top", "pods", "--containers")
    ours = await client.top_pods(namespace=cluster.namespace, containers=True)
    assert sorted(row[1:] for row in cells(str(ours))[1:]) == sorted(cells(theirs)[1:])


@pytest.mark.usefixtures("metrics")
async def test_nodes_are_those_of_kubectl(client: Client, kubectl: Kubectl) -> None:
    theirs = await kubectl.run("top", "nodes")

    assert cells(str(await client.top_nodes()))[1:] == cells(theirs)[1:]


async def test_without_the_metrics_api_both_fail(client: Client, kubectl: Kubectl) -> None:
    assert "Metrics API not available" in await kubectl.run("top", "pods", code=1)
    with pytest.raises(NoMatch, match="install metrics-server"):
        await client.top_pods()
