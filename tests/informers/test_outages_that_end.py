"""The end of an outage: all informers recover within seconds, and none sends requests in a loop."""

from __future__ import annotations

from contextlib import AsyncExitStack
from random import Random

import pytest
import trio

import dynkube
from dynkube import InformerSettings
from dynkube.errors import ConnectFailed, Gone, ServiceUnavailable, Status, TooManyRequests
from dynkube.informers._reflector.health import ReflectorHealth
from dynkube.informers._reflector.outage import OutageWaits
from dynkube_testing import APIServer, Disconnect

pytestmark = pytest.mark.scenario("P13")

NUMBER = 200


@pytest.mark.parametrize("status", [429, 503])
async def test_after_an_outage_no_informer_waits_much_longer_than_the_first(status: int) -> None:
    settings = InformerSettings(random=Random(5))
    async with (
        APIServer() as server,
        dynkube.connect(url=server.url, transport=server.transport(), settings=settings) as client,
        AsyncExitStack() as stack,
    ):
        informers = [
            await stack.enter_async_context(client.informer("configmaps.v1", namespace=f"n{number}"))
            for number in range(NUMBER)
        ]
        for informer in informers:
            await informer.wait_state(dynkube.LIVE)
        outage = server.fail(status=status)
        server.end_watches(how="cut")
        await trio.sleep(100)
        outage.remove()
        live_at: list[float] = []
        async with trio.open_nursery() as nursery:
            for informer in informers:
                nursery.start_soon(when_live, informer, live_at)

    assert len(live_at) == NUMBER
    assert 2 < max(live_at) - min(live_at) < 15


async def when_live(informer: dynkube.Informer, times: list[float]) -> None:
    await informer.wait_state(dynkube.LIVE)
    times.append(trio.current_time())


async def test_responses_to_one_informer_wake_another_for_one_request_per_pause() -> None:
    settings = InformerSettings(random=Random(5), watch_timeout=(1, 1), streaming_lists=False)
    async with (
        APIServer() as server,
        dynkube.connect(url=server.url, transport=server.transport(), settings=settings) as client,
        client.informer("configmaps.v1") as config_maps,
        client.informer("secrets.v1"),
    ):
        await config_maps.wait_state(dynkube.LIVE)
        server.fail(resource="secrets", status=503)
        server.end_watches()
        before = len(server.requests)
        await trio.sleep(3600)
        requests = [request for request in list(server.requests)[before:] if "/secrets" in request.path]

    assert 100 < len(requests) < 3 * 3600 / 30  # 86 if only the first pause is cut short


async def test_an_expired_version_after_failed_connections_leads_to_a_list_at_once() -> None:
    settings = InformerSettings(random=Random(5), streaming_lists=False)
    async with (
        APIServer() as server,
        dynkube.connect(url=server.url, transport=server.transport(), settings=settings) as client,
        client.informer("configmaps.v1") as informer,
    ):
        await informer.wait_state(dynkube.LIVE)
        outage = server.inject(Disconnect())
        server.end_watches(how="reset")
        await trio.sleep(300)
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
        server.compact()
        outage.remove()
        server.forget_requests()
        await trio.sleep(120)
        requests = [(request.verb, request.time) for request in server.requests if "configmaps" in request.path]

    (watch, first), (listing, second) = requests[:2]
    assert (watch, listing) == ("watch", "list")
    assert second - first < 0.1


async def test_waiting_informers_are_woken_over_a_spread_of_time() -> None:
    waits, failure, random = OutageWaits(), TooManyRequests(Status(429)), Random(1)
    times: list[float] = []

    async def wait() -> None:
        assert await waits.sleep(30, failure, random, 1.0)
        times.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(wait)
        await trio.sleep(1)
        waits.answered()

    assert 1 < min(times) < 1.1
    assert 5.5 < max(times) < 6


class Latest(Random):
    """Returns the end of each range."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize(("number", "seconds"), [(20, 1), (21, 1.05), (200, 10)])
async def test_at_most_twenty_informers_a_second_are_woken(number: int, seconds: float) -> None:
    waits, failure = OutageWaits(), TooManyRequests(Status(429))
    async with trio.open_nursery() as nursery:
        for _ in range(number):
            nursery.start_soon(waits.sleep, 30, failure, Latest(), 1.0)
        await trio.sleep(3)
        waits.answered()

    assert trio.current_time() == pytest.approx(3 + seconds)


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (ServiceUnavailable(Status(503, retry_after=20)), 20),
        (ServiceUnavailable(Status(503, retry_after=40)), 30),
        (Gone(Status(410)), 30),
    ],
)
async def test_a_retry_after_and_failures_of_one_resource_are_waited_for_in_full(
    failure: dynkube.errors.APIError, seconds: float
) -> None:
    waits = OutageWaits()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits.sleep, 30, failure, Random(1), 0.0)
        await trio.sleep(1)
        waits.answered()

    assert seconds <= trio.current_time() < seconds + 0.1


def test_the_first_error_response_after_failed_connections_counts_as_a_first_failure() -> None:
    health, connect_failed, gone = ReflectorHealth(), ConnectFailed("refused"), Gone(Status(410))
    streaks = []
    for now, failure in enumerate([connect_failed, connect_failed, gone, gone, connect_failed, gone]):
        streaks.append(health.streak_before(failure))
        health.failed(failure, now)

    assert streaks == [0, 1, 0, 3, 4, 0]
