"""A resource that discovery does not list is absent once that is confirmed: an API server may have just started."""

from __future__ import annotations

from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, GVR, LIVE, UNKNOWN, Client, Unstructured
from dynkube.informers._availability.crd_filter import CRDFilter
from dynkube_testing import APIServer, Kind, Refuse, Rewrite, rewrites
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget

pytestmark = pytest.mark.scenario("F3", "P8")

KINDS = (("nodes", "NodeMetrics"), ("pods", "PodMetrics"))
LEASES = "leases.v1.coordination.k8s.io"
WITHOUT_LEASES = Rewrite(rewrites.without_group("coordination.k8s.io"))


def hide_leases(server: APIServer, **fault: Any) -> None:
    """Have discovery lack leases, in all of its documents."""
    server.inject(WITHOUT_LEASES, when=lambda request: request.path == "/apis", **fault)
    server.inject(Refuse(404), when=lambda request: request.path == "/apis/coordination.k8s.io/v1", **fault)


def lease(name: str) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": {}}


def discovery_of(server: APIServer, group_version: str) -> list[float]:
    """Return the times of the requests for one document of discovery."""
    return [request.time for request in server.audit if request.path == f"/apis/{group_version}"]


@pytest.mark.parametrize("fault", [{"times": 1}, {"duration": 4}], ids=["one response", "four seconds"])
async def test_a_built_in_resource_that_discovery_does_not_list_at_first_is_never_absent(
    server: APIServer, client: Client, fault: dict[str, Any]
) -> None:
    server.create(lease("a"))
    hide_leases(server, **fault)
    async with client.informer(LEASES) as leases:
        with trio.fail_after(6):
            await leases.wait_synced()

        assert (leases.state.phase, names(leases)) == (LIVE, ["a"])


async def test_an_aggregated_api_that_discovery_does_not_list_at_first_is_never_absent() -> None:
    """It has no CRD, so that the list of CRDs is no second source."""
    routes = Kind(gvr=GVR("route.example.com", "v1", "routes"), kind="Route", namespaced=True)
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.register(routes)
        server.create({"apiVersion": "route.example.com/v1", "kind": "Route", "metadata": {"name": "a"}})
        lacking = Rewrite(rewrites.without_group("route.example.com"))
        server.inject(lacking, when=lambda request: request.path == "/apis", duration=4)
        server.inject(Refuse(404), when=lambda request: request.path == "/apis/route.example.com/v1", duration=4)
        async with client.informer("routes.v1.route.example.com") as informer:
            await informer.wait_synced()
            assert (informer.state.phase, names(informer)) == (LIVE, ["a"])


async def test_a_resource_is_absent_once_discovery_has_left_it_out_before_and_after_a_ready_server(
    server: APIServer, client: Client
) -> None:
    async with client.informer("things.v1.apps") as things:
        state = await things.wait_state(ABSENT)

        assert (trio.current_time(), state.reason) == (5, "NotServed")
        server.forget_requests()
        await trio.sleep(200)
        assert [request for request in server.audit if request.verb != "watch"] == []


@pytest.mark.parametrize("readable", [True, False], ids=["built-in", "CRDs cannot be read"])
async def test_while_the_server_is_not_ready_an_absence_takes_a_poll_interval(
    server: APIServer, client: Client, readable: bool
) -> None:
    server.inject(Refuse(500), path_prefix="/readyz")
    if not readable:
        server.inject(Refuse(403), resource=CRDS)
    async with client.informer("things.v1.apps" if readable else WIDGETS) as things:
        await trio.sleep(26.9)
        assert things.state.phase is UNKNOWN

        await things.wait_state(ABSENT)

        assert trio.current_time() <= 27.1
        assert len([request for request in server.audit if request.path == "/readyz"]) <= 15


async def test_without_rights_to_read_crds_a_server_that_is_starting_makes_nothing_absent(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.inject(Refuse(403), resource=CRDS)
    server.inject(Refuse(404), when=lambda request: request.path == "/apis/example.com/v1", duration=20)
    server.inject(Rewrite(rewrites.without_group("example.com")), when=lambda r: r.path == "/apis", duration=20)
    server.inject(Refuse(500), path_prefix="/readyz", duration=20)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert (widgets.state.phase, names(widgets)) == (LIVE, ["a"])


async def test_a_new_informer_does_not_believe_an_earlier_response_without_its_resource(
    server: APIServer, client: Client
) -> None:
    metrics = [Kind(gvr=GVR("metrics.k8s.io", "v1", name), kind=kind, namespaced=True) for name, kind in KINDS]
    server.register(metrics[0])
    async with client.informer(metrics[0].gvr) as nodes:
        await nodes.wait_state(LIVE)
        server.register(metrics[1])
        server.create({"apiVersion": "metrics.k8s.io/v1", "kind": "PodMetrics", "metadata": {"name": "a"}})

        async with client.informer(metrics[1].gvr) as pods:
            await pods.wait_synced()

            assert (pods.state.phase, names(pods)) == (LIVE, ["a"])


async def test_informers_that_are_entered_at_once_share_a_read_of_discovery(server: APIServer, client: Client) -> None:
    async with client.informer("widgets.v1.example.com") as first, AsyncExitStack() as stack:
        await first.wait_state(ABSENT)
        server.forget_requests()

        others = [client.informer(f"w{number}s.v1.example.com") for number in range(100)]
        async with trio.open_nursery() as nursery:
            for other in others:
                nursery.start_soon(stack.enter_async_context, other)
        for other in others:
            await other.wait_state(ABSENT)

        assert len(discovery_of(server, "example.com/v1")) <= 2


async def test_an_absent_resource_that_an_upgrade_adds_is_found_although_discovery_lists_it_late(
    server: APIServer, client: Client
) -> None:
    server.create(lease("a"))
    hide_leases(server, duration=130)
    async with client.informer(LEASES) as leases:
        await leases.wait_state(ABSENT)
        await trio.sleep(60)

        await server.restart(30)  # discovery lists it half a minute later
        with trio.fail_after(100):
            await leases.wait_state(LIVE)

        assert names(leases) == ["a"]


async def test_a_resource_without_a_crd_is_looked_for_again_when_the_watch_on_crds_was_reopened(
    server: APIServer, client: Client
) -> None:
    things = Kind(gvr=GVR("apps", "v1", "things"), kind="Thing", namespaced=True)
    async with client.informer(things.gvr) as informer:
        await informer.wait_state(ABSENT)
        await trio.sleep(30)  # CRDs are watched since it is absent
        server.register(things)

        server.end_watches(CRDS)
        with trio.fail_after(2):
            await informer.wait_state(LIVE)


# ── crd_filter ───────────────────────────────────────────────────────────────────────────────


class Accepts:
    """A filter that raises ``failures`` times, and then answers."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures

    def __call__(self, body: Unstructured) -> bool:
        if self.failures:
            self.failures -= 1
            raise OSError("the file is being replaced")
        return body.labels.get("excluded") is None


async def test_a_crd_filter_that_raises_once_deletes_nothing(server: APIServer) -> None:
    accepts, recorder = Accepts(), Recorder()
    settings = dynkube.InformerSettings(random=Random(1), crd_filter=accepts)
    server.create(crd())
    server.create(widget("a"))
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        accepts.failures = 3

        body = server.get(CRDS, "widgets.example.com")
        server.update({**body, "metadata": {**body["metadata"], "labels": {"excluded": "yes"}}})
        await quiet()
        assert (widgets.state.phase, await recorder.drain()) == (LIVE, ["add/a"])

        with trio.fail_after(60):  # it is called again, and excludes the CRD
            await widgets.wait_state(ABSENT)
        assert await recorder.drain() == ["delete/a"]


async def test_a_resource_is_unknown_until_the_crd_filter_has_answered(server: APIServer) -> None:
    settings = dynkube.InformerSettings(random=Random(1), crd_filter=Accepts(failures=4))
    server.create(crd())
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        await trio.sleep(0.1)
        assert (widgets.state.phase, widgets.state.reason, widgets.has_synced) == (UNKNOWN, "CRDFilterFailed", False)

        with trio.fail_after(60):
            await widgets.wait_synced()

        assert widgets.state.phase is LIVE


async def test_the_answer_of_a_crd_filter_does_not_count_for_another_crd_of_that_name(server: APIServer) -> None:
    accepts = Accepts()
    settings = dynkube.InformerSettings(random=Random(1), crd_filter=accepts)
    server.create({**crd(), "metadata": {"name": "widgets.example.com", "labels": {"excluded": "yes"}}})
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        assert (await widgets.wait_state(ABSENT)).reason == "CRDFiltered"
        server.delete(CRDS, "widgets.example.com")
        accepts.failures = 1
        server.create(crd())

        with trio.fail_after(10):
            await widgets.wait_state(LIVE)


@pytest.mark.parametrize("between", ["answered", "forgotten", "cleared"])
def test_each_new_failure_of_a_crd_filter_is_logged_as_an_error_once(
    between: str, caplog: pytest.LogCaptureFixture
) -> None:
    accepts, body = Accepts(failures=2), Unstructured(crd())
    crd_filter = CRDFilter(accepts)
    crd_filter.judge(GVR.parse(WIDGETS), body)
    crd_filter.judge(GVR.parse(WIDGETS), body)
    if between == "answered":
        crd_filter.judge(GVR.parse(WIDGETS), body)
    elif between == "forgotten":
        crd_filter.forget(body.name)
    else:
        crd_filter.clear()

    accepts.failures = 1
    crd_filter.judge(GVR.parse(WIDGETS), body)

    assert [record.levelname for record in caplog.records if record.levelname == "ERROR"] == ["ERROR"] * 2
