"""G21-G23: forbidden resources, CRDs that may not be watched, and APIs without a CRD."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, DEGRADED, GVR, LIVE, UNKNOWN, Client
from dynkube_testing import APIServer, Kind
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget


@pytest.mark.scenario("G21", "F14", "F30", "F32", "P8")
async def test_a_forbidden_resource_is_degraded_delays_no_other_and_recovers(server: APIServer, client: Client) -> None:
    for plural in ("widgets", "gadgets"):
        server.create(crd(plural))
    server.create(widget("a"))
    fault = server.fail(resource="widgets", status=403)
    async with client.informer(WIDGETS) as widgets, client.informer("gadgets.v1.example.com") as gadgets:
        await gadgets.wait_state(LIVE)
        assert trio.current_time() == 0
        assert (await widgets.wait_state(DEGRADED)).reason == "Forbidden"
        assert (widgets.has_synced, widgets.list()) == (False, [])

        await trio.sleep(600)
        server.forget_requests()
        await trio.sleep(600)
        tried = [request for request in server.requests if request.status == 403]
        assert 600 / 60 <= len(tried) <= 600 / 30, "every 30 to 60 s"

        fault.remove()
        await widgets.wait_synced()
        assert ((await widgets.wait_state(LIVE)).reason, names(widgets.list())) == ("Watching", ["a"])


@pytest.mark.scenario("F14")
async def test_14_a_permission_revoked_during_a_watch_is_shown_and_the_objects_are_kept(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)

        fault = server.fail(resource="widgets", status=403)
        server.end_watches("widgets")
        assert (await widgets.wait_state(DEGRADED)).reason == "Forbidden"
        assert names(widgets.list()) == ["a"]
        server.delete("widgets", "a")
        server.create(widget("b"))

        fault.remove()
        await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/a", "delete/a", "add/b"]


@pytest.mark.scenario("G22", "F1", "F14")
async def test_discovery_is_polled_while_crds_may_not_be_watched(server: APIServer, client: Client) -> None:
    fault = server.fail(resource=CRDS, status=403)
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        assert (await widgets.wait_state(ABSENT)).reason == "CRDNotFound"

        server.create(crd())
        server.create(widget("a"))
        with trio.fail_after(31):
            await widgets.wait_state(LIVE)
        server.delete(CRDS, "widgets.example.com")
        with trio.fail_after(61):  # discovery is read twice
            await widgets.wait_state(ABSENT)
        assert await recorder.drain() == ["add/a", "delete/a"]

        fault.remove()
        await trio.sleep(61)
        server.create(crd())
        server.create(widget("b"))
        with trio.fail_after(1):
            await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/b"]


@pytest.mark.scenario("G22", "F14", "F32")
async def test_after_a_403_for_crds_other_failures_do_not_restore_outdated_crds(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        forbidden = server.fail(resource=CRDS, status=403)
        server.end_watches(CRDS)
        await quiet()
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)

        forbidden.remove()
        server.fail(resource=CRDS, status=500)
        await trio.sleep(300)

        assert widgets.state.phase is ABSENT


@pytest.mark.scenario("F15", "F32")
async def test_15_without_discovery_a_resource_is_unknown_and_not_absent(server: APIServer, client: Client) -> None:
    fault = server.fail(path_prefix="/apis", status=503)
    async with client.informer(WIDGETS) as widgets:
        await trio.sleep(100)
        assert (widgets.state.phase, widgets.has_synced) == (UNKNOWN, False)
        assert widgets.state.reason == "ServiceUnavailable"

        fault.remove()
        await widgets.wait_synced()
        assert widgets.state.phase is ABSENT


@pytest.fixture
def metrics() -> Kind:
    return Kind(gvr=GVR("metrics.example.com", "v1beta1", "nodes"), kind="NodeMetrics", namespaced=False)


@pytest.mark.scenario("G23", "F11", "F15", "P8")
async def test_an_aggregated_api_is_installed_fails_and_recovers(
    server: APIServer, client: Client, metrics: Kind
) -> None:
    group_version = "metrics.example.com/v1beta1"
    recorder = Recorder()
    async with client.informer(f"nodes.v1beta1.{metrics.gvr.group}") as nodes:
        recorder.attach(nodes)
        await nodes.wait_state(ABSENT)

        server.register(metrics)
        server.create({"apiVersion": group_version, "kind": "NodeMetrics", "metadata": {"name": "n1"}})
        with trio.fail_after(1):
            await nodes.wait_state(LIVE)

        server.set_available(group_version, available=False)
        server.end_watches(metrics.gvr)
        assert (await nodes.wait_state(DEGRADED)).reason == "ServiceUnavailable"
        assert names(nodes.list()) == ["n1"]

        server.set_available(group_version, available=True)
        await nodes.wait_state(LIVE)
        assert await recorder.drain() == ["add/n1"]


@pytest.mark.scenario("G23", "F11")
async def test_an_aggregated_api_that_is_removed_is_absent_until_it_returns(
    server: APIServer, client: Client, metrics: Kind
) -> None:
    server.register(metrics)
    server.create({"apiVersion": str(metrics.gvr.group_version), "kind": "NodeMetrics", "metadata": {"name": "n1"}})
    recorder = Recorder()
    async with client.informer(metrics.gvr) as nodes:
        recorder.attach(nodes)
        await nodes.wait_state(LIVE)

        server.unregister(metrics.gvr)
        with trio.fail_after(40):  # discovery is read twice, 30 seconds apart
            await nodes.wait_state(ABSENT)
        assert (await recorder.drain(), nodes.list()) == (["add/n1", "delete/n1"], [])

        server.register(metrics)
        with trio.fail_after(31):
            await nodes.wait_state(LIVE)
        assert await recorder.drain() == ["add/n1"]


async def test_an_api_without_an_apiservice_is_not_polled(server: APIServer, client: Client, metrics: Kind) -> None:
    server.register(metrics)
    async with client.informer(metrics.gvr) as nodes:
        await nodes.wait_state(LIVE)
        server.unregister(metrics.gvr)
        await nodes.wait_state(ABSENT)
        await trio.sleep(60)
        server.forget_requests()

        await trio.sleep(3600)

        # Discovery is read again when the watch on CRDs is renewed, every 5 to 10 minutes.
        assert len([request for request in server.audit if "watch" not in request.params]) < 30
        server.register(metrics)
        with trio.fail_after(1):
            await nodes.wait_state(LIVE)


@pytest.mark.scenario("F11")
async def test_an_absent_resource_is_looked_up_again_for_a_later_informer(
    server: APIServer, client: Client, metrics: Kind
) -> None:
    async with client.informer(WIDGETS) as keeps_the_client_busy:
        await keeps_the_client_busy.wait_synced()
        async with client.informer(metrics.gvr) as nodes:
            await nodes.wait_state(ABSENT)
        server.register(metrics)

        async with client.informer(metrics.gvr) as nodes:
            with trio.fail_after(1):
                await nodes.wait_state(LIVE)


async def test_informers_of_one_resource_agree_on_its_state_even_if_one_was_entered_later(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.fail(status=503, verb="", path_prefix="/apis/example.com")
    async with client.informer(WIDGETS) as widgets, client.informer("gadgets.v1.example.com") as first:
        await widgets.wait_state(LIVE)
        assert first.state.phase is UNKNOWN

        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        async with client.informer("gadgets.v1.example.com", namespace="default") as second:
            await quiet()

            assert first.state == second.state
            assert (first.state.phase, first.has_synced) == (UNKNOWN, False)


async def test_a_crd_whose_deletion_was_missed_is_not_taken_for_an_aggregated_api(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    fault = server.fail(status=403, resource=CRDS)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        fault.remove()
        server.delete(CRDS, "widgets.example.com")
        await trio.sleep(120)
        assert widgets.state.phase is ABSENT

        server.forget_requests()
        await trio.sleep(250)
        assert [request.path for request in server.requests if request.verb != "watch"] == []
