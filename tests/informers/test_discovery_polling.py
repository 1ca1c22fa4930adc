"""While CRDs may not be watched, discovery is polled at intervals, in spite of other discovery requests."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing

import pytest
import trio

from dynkube import ABSENT, GVR, LIVE, Client, Informer, Phase
from dynkube_testing import APIServer, Delay, Drip, Kind, Refuse
from tests.informers.kit import CRDS, WIDGETS, crd, quiet

pytestmark = pytest.mark.scenario("P8")

AGGREGATED = Kind(gvr=GVR("example.com", "v1", "widgets"), kind="Widget", namespaced=True)


async def test_losing_the_crd_watch_during_a_discovery_request_starts_polling(
    server: APIServer, client: Client
) -> None:
    server.inject(Delay(20), path_prefix="/apis/example.com", times=1)
    async with client.informer(WIDGETS) as widgets:
        await trio.sleep(5)
        server.inject(Refuse(403), resource=CRDS)
        server.end_watches(CRDS)
        assert (await widgets.wait_state(ABSENT)).reason == "CRDNotFound"

        server.create(crd())
        with trio.fail_after(120):
            await widgets.wait_state(LIVE)


async def test_lookups_of_other_resources_do_not_postpone_the_poll(server: APIServer, client: Client) -> None:
    server.inject(Refuse(403), resource=CRDS)
    async with AsyncExitStack() as stack:
        widgets = await stack.enter_async_context(client.informer(WIDGETS))
        await widgets.wait_state(ABSENT)
        server.create(crd())

        for number in range(12):  # one every ten seconds, so that there are never thirty without one
            await stack.enter_async_context(client.informer(f"others.v{number + 1}.example.org"))
            await trio.sleep(10)
        await quiet()

        assert widgets.state.phase is LIVE


async def test_a_response_from_before_a_crd_was_deleted_does_not_bring_its_resource_back(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:
        await widgets.wait_state(LIVE)
        server.inject(Drip(50), path_prefix="/apis/example.com", when=lambda request: not request.resource, times=1)
        async with client.informer("gadgets.v1.example.com") as gadgets:
            await trio.sleep(1)  # the discovery response was computed, and is still being received
            server.delete(CRDS, "widgets.example.com")
            await widgets.wait_state(ABSENT)
            revived = await nursery.start(note_revivals, widgets)
            await gadgets.wait_state(ABSENT)
            await trio.sleep(60)
            server.forget_requests()
            await trio.sleep(250)

            assert revived == []
            assert [request.path for request in server.audit if request.verb != "watch"] == []
            nursery.cancel_scope.cancel()


async def test_polls_send_no_requests_besides_the_retries_of_a_failing_one(server: APIServer, client: Client) -> None:
    server.register(AGGREGATED)
    async with client.informer(WIDGETS) as widgets:
        await remove_and_refuse_discovery(server, widgets)

        await trio.sleep(3600)

        assert len([r for r in server.audit if r.path == "/apis/example.com/v1"]) <= 120, "every 30 to 60 s"


async def test_lookups_of_other_resources_do_not_bring_a_retry_forward(server: APIServer, client: Client) -> None:
    server.register(AGGREGATED)
    async with AsyncExitStack() as stack:
        widgets = await stack.enter_async_context(client.informer(WIDGETS))
        await remove_and_refuse_discovery(server, widgets)

        for number in range(100):
            await stack.enter_async_context(client.informer(f"others.v{number + 1}.example.org"))
            await trio.sleep(6)

        assert len([r for r in server.audit if r.path == "/apis/example.com/v1"]) <= 40, "at least half of 30 to 60 s"


async def remove_and_refuse_discovery(server: APIServer, widgets: Informer) -> None:
    """Remove the aggregated API, and refuse discovery for so long that retries are as rare as they get."""
    await widgets.wait_state(LIVE)
    server.unregister(AGGREGATED.gvr)
    await widgets.wait_state(ABSENT)
    server.inject(Refuse(503), path_prefix="/apis/example.com")
    await trio.sleep(3600)
    server.forget_requests()


async def note_revivals(widgets: Informer, task_status: trio.TaskStatus[list[Phase]]) -> None:
    """Record the phases other than ABSENT."""
    revived: list[Phase] = []
    task_status.started(revived)
    async with aclosing(widgets.states()) as states:
        async for state in states:
            if state.phase is not ABSENT:
                revived.append(state.phase)  # noqa: PERF401  # a comprehension would lose them when cancelled
