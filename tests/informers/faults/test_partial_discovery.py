"""F15: discovery that fails, lags or is incomplete removes no known resource and makes none ABSENT."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, GVR, LIVE, UNKNOWN, Client
from dynkube_testing import APIServer, Freeze, Kind, Refuse, Rewrite, rewrites
from tests.informers.kit import CRDS, WIDGETS, crd, names, widget

METRICS = "nodemetrics.v1beta1.metrics.example.com"
GROUP = "/apis/metrics.example.com"

pytestmark = pytest.mark.scenario("F15", "P8")


def metrics_are_served(server: APIServer) -> None:
    gvr = GVR("metrics.example.com", "v1beta1", "nodemetrics")
    server.register(Kind(gvr=gvr, kind="NodeMetrics", namespaced=False))


async def test_a_resource_whose_discovery_fails_is_unknown_and_not_absent(server: APIServer, client: Client) -> None:
    metrics_are_served(server)
    down = server.inject(Refuse(503), path_prefix=GROUP)
    async with client.informer(METRICS) as metrics:
        await trio.sleep(3600)
        assert (metrics.state.phase, metrics.state.reason) == (UNKNOWN, "DiscoveryFailed")
        assert not metrics.has_synced
        assert down.hits <= 110

        down.remove()
        with trio.fail_after(65):
            await metrics.wait_state(LIVE)


async def test_a_known_resource_stays_live_while_discovery_leaves_it_out(server: APIServer, client: Client) -> None:
    metrics_are_served(server)
    async with client.informer(METRICS) as metrics:
        await metrics.wait_state(LIVE)
        since = metrics.state.since
        for forgetful in (rewrites.without_group, rewrites.stale_group):
            server.inject(Rewrite(forgetful("metrics.example.com")), path_prefix="/apis")

        await trio.sleep(3600)

        assert (metrics.state.phase, metrics.state.since) == (LIVE, since)


async def test_a_crd_is_followed_although_discovery_is_outdated(server: APIServer, client: Client) -> None:
    server.inject(Freeze(), path_prefix="/api")
    await client.mapper.load()
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)

        server.create(crd())
        server.create(widget("a"))
        with trio.fail_after(5):
            await widgets.wait_state(LIVE)
        assert names(widgets.list()) == ["a"]

        server.delete(CRDS, "widgets.example.com")
        with trio.fail_after(5):
            await widgets.wait_state(ABSENT)


async def test_names_are_found_while_another_group_is_down(server: APIServer, client: Client) -> None:
    metrics_are_served(server)
    server.inject(Rewrite(rewrites.stale_group("metrics.example.com")), path_prefix="/apis")
    server.inject(Refuse(503), path_prefix=GROUP)

    async with client.informer("deployments") as deployments:
        await deployments.wait_state(LIVE)

    assert (await client.resource("deploy").resolve()).gvr.resource == "deployments"
