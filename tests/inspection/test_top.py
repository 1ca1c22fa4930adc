"""``top_pods`` and ``top_nodes``: usage from the metrics API."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dynkube import Client
from dynkube.errors import InvalidInput, NoMatch, ServiceUnavailable
from dynkube.meta._quantities import quantity
from dynkube_testing import APIServer
from tests.inspection.metrics import metrics_crds, node_metrics, pod_metrics


@pytest.fixture
def metrics(server: APIServer) -> None:
    """Two pods, and a node with and one without metrics."""
    for definition in metrics_crds():
        server.create(definition)
    server.create(pod_metrics("web", app=("250m", "100Mi"), proxy=("1500001n", "28Mi")))
    server.create(pod_metrics("db", app=("1", "2Gi")))
    server.create(node_metrics("n1", "500m", "3Gi"))
    for name in ("n1", "n2"):
        allocatable = {"cpu": "2", "memory": "8Gi"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}
        server.create(node)


@pytest.mark.usefixtures("metrics")
async def test_the_containers_of_a_pod_are_added_up(client: Client) -> None:
    found = await client.top_pods()

    assert [(each.name, each.cpu, each.memory) for each in found] == [("db", 1000, 2 << 30), ("web", 252, 128 << 20)]
    assert str(found).splitlines() == [
        "NAMESPACE  NAME  CPU(cores)  MEMORY(bytes)",
        "default    db         1000m         2048Mi",
        "default    web         252m          128Mi",
    ]


@pytest.mark.usefixtures("metrics")
async def test_containers_are_shown_by_themselves_the_largest_first(client: Client) -> None:
    found = await client.top_pods(containers=True, sort_by="cpu", label_selector={"app": "web"})

    assert [(each.container, each.cpu) for each in found] == [("app", 250), ("proxy", 2)]
    by_memory = await client.top_pods(sort_by="memory")
    assert [each.name for each in by_memory] == ["db", "web"]


@pytest.mark.usefixtures("metrics")
async def test_nodes_have_percentages_and_may_have_no_metrics(client: Client) -> None:
    nodes = client.resource("nodes")
    status = {"allocatable": {"cpu": "2", "memory": "8Gi"}}
    for name in ("n1", "n2"):
        await nodes.update_status((await nodes.get(name)).evolve(status=status))

    first, second = await client.top_nodes()

    assert (first.cpu, first.cpu_percent, first.memory_percent) == (500, 25, 37)
    assert (second.name, second.cpu, second.cpu_percent) == ("n2", None, None)
    assert "<unknown>" in str(await client.top_nodes())


async def test_without_the_metrics_api_the_error_says_what_to_install(client: Client) -> None:
    for call in (client.top_pods, client.top_nodes):
        with pytest.raises(NoMatch, match=r"does not serve the metrics API .*: install metrics-server"):
            await call()


@pytest.mark.usefixtures("metrics")
async def test_a_metrics_api_that_is_down_is_an_error_with_a_note(client: Client, server: APIServer) -> None:
    server.fail(path_prefix="/apis/metrics.k8s.io/v1beta1/pods", status=503)

    with pytest.raises(ServiceUnavailable) as caught:
        await client.top_pods()

    assert any("metrics-server" in note for note in caught.value.__notes__)


async def test_an_unknown_order_is_rejected(client: Client) -> None:
    with pytest.raises(InvalidInput, match="sort_by is 'size': pass 'cpu', 'memory' or 'name'"):
        await client.top_pods(sort_by="size")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("250m", Fraction(1, 4)),
        ("1500001n", Fraction(1500001, 10**9)),
        ("12u", Fraction(12, 10**6)),
        ("1.5Gi", Fraction(3 << 29)),
        (".5", Fraction(1, 2)),
        ("2k", Fraction(2000)),
        ("3e2", Fraction(300)),
        (4, Fraction(4)),
        ("", None),
        ("x", None),
        ("1.5.2", None),
        ("1e999999999", None),
        ("9" * 100, None),
        (True, None),
        (None, None),
    ],
)
def test_quantities_are_read_exactly(text: Any, number: Fraction | None) -> None:
    assert quantity(text) == number
