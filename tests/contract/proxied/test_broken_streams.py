"""P11, P13 and failure modes 16, 19, 21, 23: informers miss no events when real connections fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args

import pytest
import trio

import dynkube
from dynkube import Client, Informer, Unstructured
from dynkube_testing import Cut, Delay, Disconnect, Drip, Effect, Ending, FaultProxy, Hang, Refuse
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.informers.kit import CONFIGS, change, names, put, wait_live
from tests.informers.folding import Subscription

pytestmark = pytest.mark.real_time

OURS = "dynkube.example/ours"
ENDINGS: tuple[Ending, ...] = get_args(Ending)


@asynccontextmanager
async def followed(client: Client, cluster: Cluster) -> AsyncIterator[tuple[Informer, Subscription]]:
    """Run an informer of the test's objects, with a handler that has received them."""
    async with client.informer(CONFIGS, namespace=cluster.namespace, label_selector=OURS) as configs:
        subscription = Subscription(configs)
        with trio.fail_after(GIVE_UP):
            await configs.wait_synced()
        yield configs, subscription


async def ours(cluster: Cluster, name: str) -> Unstructured:
    """Create an object that the informer selects."""
    return await put(cluster, name, labels={OURS: ""})


async def check(configs: Informer, subscription: Subscription, last: Unstructured, expected: list[str]) -> None:
    """Assert that reads and events agree with the server, after the write that returned ``last``."""
    with trio.fail_after(GIVE_UP):
        await configs.wait_for(last)
        await subscription.wait_for(last.key)
    assert names(configs.list()) == expected
    assert subscription.folded == {obj.key: obj for obj in configs.list()}
    assert subscription.wrong == []


@pytest.mark.scenario("F21", "P11", "P13")
@pytest.mark.parametrize("how", ENDINGS)
async def test_an_open_watch_that_ends_in_any_way_loses_no_events(
    how: Ending, cluster: Cluster, proxy: FaultProxy, client: Client
) -> None:
    await ours(cluster, "a")
    await ours(cluster, "b")
    async with followed(client, cluster) as (configs, subscription):
        await wait_live(configs)
        assert proxy.end_watches("configmaps", how=how) >= 1
        await cluster.delete("configmaps", "a")
        await change(cluster, "b", text="new")
        last = await ours(cluster, "c")

        await check(configs, subscription, last, ["b", "c"])
        assert configs.statistics().lists <= 1, "the watch resumes"


@pytest.mark.scenario("F18", "F19", "P13")
@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("lines", [0, 1])
async def test_a_watch_that_fails_during_or_after_the_initial_objects_loses_no_events(
    how: Ending, lines: int, cluster: Cluster, proxy: FaultProxy, client: Client
) -> None:
    for name in ("a", "b"):
        await ours(cluster, name)
    # Old servers respond to streaming lists with an error, which is no stream to cut.
    streams = None if cluster.version >= (1, 34) else lambda request: "sendInitialEvents" not in request.params
    cut = Cut(how, after_lines=lines)
    fault = proxy.inject(cut, verb="watch", resource="configmaps", when=streams, times=2)
    async with followed(client, cluster) as (configs, subscription):
        last = await ours(cluster, "c")

        await check(configs, subscription, last, ["a", "b", "c"])
    assert fault.hits >= 1


LISTS: dict[str, Effect] = {
    "reset": Cut("reset", after_bytes=100),
    "cut": Cut("cut", after_bytes=100),
    "mid-chunk": Cut("mid-chunk", after_bytes=100),
    "truncated": Cut("clean", after_bytes=100),
    "no response": Disconnect("reset"),
    "silent": Cut("silent", after_bytes=100),
    "hanging": Hang(),
    "slow": Drip(5_000),
    "delayed": Delay(0.3),
    "HTML": Refuse(502, body="<html>Bad Gateway</html>"),
    "HTML with status 200": Refuse(200, body="<html>Sign in</html>"),
    "busy": Refuse(429, retry_after=1),
}


@pytest.mark.scenario("F16", "F23", "F26", "P13")
@pytest.mark.parametrize("effect", LISTS.values(), ids=LISTS)
async def test_a_list_that_fails_in_any_way_is_repeated(effect: Effect, cluster: Cluster, proxy: FaultProxy) -> None:
    for name in ("a", "b"):
        await ours(cluster, name)
    fault = proxy.inject(effect, verb="list", resource="configmaps", times=2)
    settings = dynkube.InformerSettings(streaming_lists=False, list_timeout=1.0)
    async with (
        dynkube.connect(kubeconfig=proxy.kubeconfig(), settings=settings) as client,
        followed(client, cluster) as (configs, subscription),
    ):
        last = await ours(cluster, "c")

        await check(configs, subscription, last, ["a", "b", "c"])
    assert fault.hits >= 1


@pytest.mark.scenario("F20", "P13")
async def test_a_slow_watch_falls_behind_and_misses_no_events(
    cluster: Cluster, proxy: FaultProxy, client: Client
) -> None:
    proxy.inject(Drip(2_000), verb="watch", resource="configmaps")
    async with followed(client, cluster) as (configs, subscription):
        written = [await ours(cluster, f"n{number}") for number in range(10)]

        await check(configs, subscription, written[-1], [f"n{number}" for number in range(10)])
