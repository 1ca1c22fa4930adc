"""Metrics with client-go's names, and metrics of informers at the time of a scrape."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from random import Random

import pytest
import trio
from prometheus_client import CollectorRegistry, generate_latest

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, Client, Phase, Unstructured
from dynkube.errors import ConfigError, InvalidInput, NotFound
from dynkube.telemetry import PrometheusMetrics
from dynkube_testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, crd, pod, widget

pytestmark = pytest.mark.scenario("F40")

HOST = "embedded.invalid"
WIDGET_LABELS = {"name": "test", "group": "example.com", "version": "v1", "resource": "widgets"}
INFORMER_LABELS = {**WIDGET_LABELS, "namespace": "", "label_selector": "", "field_selector": ""}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
async def client(server: APIServer, registry: CollectorRegistry) -> AsyncIterator[Client]:
    settings = dynkube.InformerSettings(random=Random(7), linger=0)
    metrics = PrometheusMetrics(registry, name="test")
    async with dynkube.connect(transport=server.transport(), settings=settings, observers=[metrics]) as client:
        yield client


def states(registry: CollectorRegistry) -> list[str]:
    """Return the phases whose metric has the value 1."""
    labels = ({**INFORMER_LABELS, "state": str(phase)} for phase in Phase)
    return [some["state"] for some in labels if registry.get_sample_value("dynkube_informer_state", some)]


async def test_requests_are_counted_by_code_method_and_host(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    server.fail(resource="pods", status=429, retry_after=3, times=1)
    await client.resource("pods.v1").create(pod("a"))
    with pytest.raises(NotFound):
        await client.resource("pods.v1").get("b")

    def requests(code: str, method: str) -> float | None:
        labels = {"code": code, "method": method, "host": HOST}
        return registry.get_sample_value("rest_client_requests_total", labels)

    assert (requests("201", "POST"), requests("429", "POST"), requests("404", "GET")) == (1, 1, 1)
    retried = {"code": "201", "verb": "POST", "host": HOST}
    assert registry.get_sample_value("rest_client_request_retries_total", retried) == 1


async def test_sizes_and_durations_are_measured_except_for_watches(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    async with client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)
        await client.resource("pods.v1").create(pod("a"))
        await trio.sleep(100)

    post, get = {"verb": "POST", "host": HOST}, {"verb": "GET", "host": HOST}
    sent = registry.get_sample_value("rest_client_request_size_bytes_sum", post)
    assert sent is not None
    assert sent > 100
    assert registry.get_sample_value("rest_client_request_duration_seconds_count", post) == 1
    assert registry.get_sample_value("rest_client_response_size_bytes_bucket", {**post, "le": "4096.0"}) == 1
    assert registry.get_sample_value("rest_client_request_duration_seconds_sum", get) == 0


async def test_an_informer_has_metrics_in_every_phase(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        assert states(registry) == ["ABSENT"]
        server.create(crd())
        server.create(widget("a"))
        await widgets.wait_state(LIVE)
        assert states(registry) == ["LIVE"]
        assert registry.get_sample_value("dynkube_informer_objects", INFORMER_LABELS) == 1
        server.fail(resource="widgets", status=403)
        server.end_watches("widgets")
        await widgets.wait_state(DEGRADED)
        assert states(registry) == ["DEGRADED"]
        await trio.sleep(120)
        lag = registry.get_sample_value("dynkube_informer_lag_seconds", INFORMER_LABELS)
        assert lag == pytest.approx(120, abs=5)
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        assert states(registry) == ["ABSENT"]

    assert "widgets" not in scraped_samples(registry)


def scraped_samples(registry: CollectorRegistry) -> str:
    """Return the lines of the metrics that are computed at each scrape."""
    lines = generate_latest(registry).decode().splitlines()
    return " ".join(line for line in lines if line.startswith("dynkube_informer"))


async def test_the_latency_and_backlog_of_handlers_have_client_gos_names(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    server.create(crd())
    for name in "abc":
        server.create(widget(name))

    async def slow(obj: Unstructured) -> None:
        await trio.sleep(4)

    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(on_add=slow)
        await trio.sleep(6)
        queued = registry.get_sample_value("informer_queued_items", WIDGET_LABELS)
        await widgets.wait_synced()
        version = registry.get_sample_value("informer_store_resource_version", WIDGET_LABELS)

    assert queued == 1
    assert registry.get_sample_value("informer_processing_latency_seconds_sum", WIDGET_LABELS) == 12
    assert version is not None
    assert version >= int(server.get("widgets", "c")["metadata"]["resourceVersion"])


async def test_lists_and_watches_have_the_metrics_of_reflectors(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(10)
        server.fail(resource="widgets", verb="watch", status=410, times=1)
        server.end_watches("widgets")
        await trio.sleep(10)

    def value(name: str) -> float | None:
        return registry.get_sample_value(name, WIDGET_LABELS)

    assert (value("reflector_lists_total"), value("reflector_items_per_list_sum")) == (1, 1)
    assert (value("reflector_watches_total"), value("reflector_short_watches_total")) == (3, 1)
    assert value("reflector_watch_duration_seconds_sum") == pytest.approx(20, abs=1)


async def test_informers_that_differ_only_in_their_transform_are_added_up(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as one, client.informer(WIDGETS, transform=None) as other:
        await one.wait_state(LIVE)
        await other.wait_state(LIVE)

        assert registry.get_sample_value("dynkube_informer_objects", INFORMER_LABELS) == 2
        assert states(registry) == ["LIVE"]
        text = scraped_samples(registry)
        assert text.count("dynkube_informer_objects{") == 1


async def test_open_watches_and_connections_are_read_at_the_scrape(
    server: APIServer, client: Client, registry: CollectorRegistry
) -> None:
    async with client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)

        assert registry.get_sample_value("dynkube_client_open_watches") == 1
    assert registry.get_sample_value("dynkube_client_open_watches") == 0


async def test_a_closed_client_is_not_read_any_more(server: APIServer, registry: CollectorRegistry) -> None:
    metrics = PrometheusMetrics(registry)
    connected = dynkube.connect(transport=server.transport(), observers=[metrics])
    async with connected as client, client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)

    assert registry.get_sample_value("dynkube_client_open_watches") == 0


def test_a_second_instance_on_one_registry_is_rejected(registry: CollectorRegistry) -> None:
    PrometheusMetrics(registry)

    with pytest.raises(InvalidInput, match="pass the same PrometheusMetrics to all clients"):
        PrometheusMetrics(registry)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(ConfigError, match=r"pip install 'dynkube\[prometheus\]'"):
        PrometheusMetrics()
