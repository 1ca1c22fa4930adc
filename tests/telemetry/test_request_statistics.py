"""``client.statistics()`` and ``client.mapper.statistics()``: counts of requests and their outcomes."""

from __future__ import annotations

import pytest
import trio
from prometheus_client import CollectorRegistry

import dynkube
from dynkube import LIVE, Client
from dynkube.errors import DynkubeError, NoMatch, NotFound
from dynkube.rest import Limits
from dynkube.telemetry import PrometheusMetrics
from dynkube_testing import APIServer
from tests.informers.kit import crd, pod

pytestmark = pytest.mark.scenario("F40")


async def test_responses_are_counted_by_verb_and_code(server: APIServer, client: Client) -> None:
    pods = client.resource("pods.v1")
    await pods.create(pod("a"))
    await pods.get("a", namespace="default")
    await pods.patch("a", {"metadata": {"labels": {"app": "a"}}}, namespace="default")
    await pods.list(namespace="default")
    await pods.delete("a", namespace="default")
    await pods.delete_collection(namespace="default")
    with pytest.raises(NotFound):
        await pods.get("a", namespace="default")

    answers = dict(client.statistics().answers)

    assert {key for key in answers if key != ("get", 200)} == {
        ("create", 201),
        ("patch", 200),
        ("list", 200),
        ("delete", 200),
        ("deletecollection", 200),
        ("get", 404),
    }
    assert sum(answers.values()) == client.statistics().requests


async def test_retries_and_attempts_without_a_response_are_counted(server: APIServer, client: Client) -> None:
    server.fail(resource="pods", status=429, retry_after=1, times=2)

    await client.resource("pods.v1").list()

    numbers = client.statistics()
    assert (numbers.answers["list", 429], numbers.answers["list", 200], numbers.retries) == (2, 1, 2)


async def test_an_open_watch_is_counted_while_it_is_open(server: APIServer, client: Client) -> None:
    async with client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)
        during = client.statistics()

    assert (during.open_watches, during.open_streams) == (1, 1)
    assert during.answers["watch", 200] == 1
    assert during.received > 0
    assert client.statistics().open_watches == 0


async def test_warnings_are_counted(server: APIServer, client: Client) -> None:
    created = await client.resource("pods.v1").create({**pod("a"), "nonsense": 1})

    assert created.name == "a"
    assert client.statistics().warnings == 1


async def test_waits_for_the_rate_limit_are_counted_and_measured(server: APIServer) -> None:
    registry = CollectorRegistry()
    limits = Limits(qps=1, burst=2)
    metrics = PrometheusMetrics(registry)
    async with dynkube.connect(transport=server.transport(), limits=limits, observers=[metrics]) as client:
        for _ in range(2):
            await client.raw("GET", "/version")
        server.fail(status=429, retry_after=0, path_prefix="/version", times=1)
        await client.raw("GET", "/version")  # two requests, and each has to wait

        numbers = client.statistics()
        assert (numbers.throttled, numbers.throttled_seconds) == pytest.approx((2, 2))

    labels = {"verb": "GET", "host": "embedded.invalid"}
    assert registry.get_sample_value("rest_client_rate_limiter_duration_seconds_count", labels) == 4
    assert registry.get_sample_value("rest_client_rate_limiter_duration_seconds_sum", labels) == pytest.approx(2)


@pytest.mark.real_time
async def test_connections_are_counted_over_real_sockets(server: APIServer) -> None:
    async with (
        server.serve() as endpoint,
        dynkube.connect(url=endpoint.url, token=endpoint.token, verify=False) as client,
    ):
        async with client.informer("pods.v1") as pods:
            await pods.wait_state(LIVE)
            numbers = client.statistics()

        assert numbers.connections - numbers.idle_connections == 1
        assert numbers.idle_connections >= 1
        assert client.statistics().plugin_calls == {}


async def test_the_mapper_counts_loads_refreshes_and_misses(server: APIServer, client: Client) -> None:
    assert client.mapper.statistics().age is None
    await client.mapper.resolve("pods")
    with pytest.raises(NoMatch):
        await client.mapper.resolve("widgets.v1.example.com")
    with pytest.raises(NoMatch):
        await client.mapper.resolve("widgets")
    await trio.sleep(30)
    client.mapper.invalidate("example.com")

    numbers = client.mapper.statistics()

    assert (numbers.loads, numbers.refreshes, numbers.misses, numbers.failures) == (2, 1, 2, 0)
    assert (sorted(numbers.stale), sorted(numbers.unreadable), numbers.age) == (["example.com"], [], 30)
    assert numbers.resources > 50


async def test_the_mapper_reports_what_it_could_not_read(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="dynkube")
    server.create(crd())
    fault = server.fail(path_prefix="/apis", status=503)
    with pytest.raises(DynkubeError):
        await client.mapper.resolve("widgets")

    numbers = client.mapper.statistics()
    assert numbers.unreadable == {"*"}
    assert "503" in numbers.last_error

    fault.remove()
    await trio.sleep(10)
    await client.mapper.resolve("widgets")
    assert client.mapper.statistics().unreadable == frozenset()
    records = [record for record in caplog.records if record.name == "dynkube.discovery"]
    assert [(record.levelname, vars(record)["group_version"]) for record in records] == [
        ("WARNING", "*"),
        ("INFO", "*"),
    ]
