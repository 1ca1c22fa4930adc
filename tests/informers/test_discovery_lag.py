"""Failure mode 3: a CRD is established or deleted, and discovery and the servers of its resource lag behind."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing

import pytest
import trio

from dynkube import ABSENT, DEGRADED, GVR, LIVE, SYNCING, Client, Phase
from dynkube.errors import NoMatch
from dynkube_testing import APIServer, Freeze, Kind, Refuse
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, crd, names, quiet, widget


def request_times(server: APIServer) -> list[float]:
    """Return the times of the requests for widgets."""
    return [r.time for r in server.requests if r.resource and r.resource.resource == "widgets"]


@pytest.mark.scenario("F3", "P8")
@pytest.mark.parametrize("status", [404, 503])
async def test_3_errors_just_after_establishing_delay_the_list_and_do_not_make_it_absent(
    server: APIServer, client: Client, status: int
) -> None:
    phases: list[Phase] = []
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:

        async def note() -> None:
            async with aclosing(widgets.states()) as states:
                async for state in states:
                    phases.append(state.phase)  # noqa: PERF401  # a comprehension would lose them when cancelled

        subscription = Subscription(widgets)
        await widgets.wait_state(ABSENT)
        server.inject(Refuse(status), resource="widgets", duration=5)
        server.create(crd())
        server.create(widget("a"))
        nursery.start_soon(note)
        await trio.sleep(4.9)
        assert (widgets.list(), 2 <= len(request_times(server)) <= 6) == ([], True)

        await widgets.wait_state(LIVE)
        await quiet()
        assert trio.current_time() < 20
        assert (names(subscription.folded.values()), subscription.wrong) == (["a"], [])
        nursery.cancel_scope.cancel()
    assert phases == [ABSENT, SYNCING, DEGRADED, LIVE]


@pytest.mark.scenario("F3")
async def test_3_discovery_that_does_not_list_a_crd_yet_delays_no_informer(server: APIServer, client: Client) -> None:
    server.inject(Freeze(), path_prefix="/apis")
    async with client.informer(WIDGETS) as widgets:
        assert (await widgets.wait_state(ABSENT)).reason == "CRDNotFound"

        server.create(crd())
        server.create(widget("a"))
        await widgets.wait_state(LIVE)
        await trio.sleep(3600)

        assert (names(widgets.list()), widgets.state.phase) == (["a"], LIVE)


@pytest.mark.scenario("F3", "F4")
async def test_3_a_name_that_discovery_does_not_list_yet_is_found_as_soon_as_it_does(
    server: APIServer, client: Client
) -> None:
    stale = server.inject(Freeze(), path_prefix="/apis")
    unheard_of = server.inject(Refuse(404), path_prefix="/apis/example.com", when=lambda request: not request.resource)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()
        with pytest.raises(NoMatch):
            await client.resource("widget").list()
        server.create(crd())
        server.create(widget("a"))
        await widgets.wait_state(LIVE)
        with pytest.raises(NoMatch):
            await client.resource("widget").list()

        stale.remove()
        unheard_of.remove()
        await trio.sleep(5)  # a miss is cached for this long

        assert names(await client.resource("widget").list()) == ["a"]


@pytest.mark.scenario("F3", "F11")
@pytest.mark.parametrize("count", [1, 6], ids=["requested alone", "requested with all others"])
async def test_3_an_aggregated_api_that_is_registered_before_it_is_served_is_found(
    server: APIServer, client: Client, count: int
) -> None:
    gvrs = [GVR("example.com", f"v{number}", "widgets") for number in range(1, count + 1)]
    not_yet = ("/apis", *(f"/apis/{gvr.group_version}" for gvr in gvrs))
    async with AsyncExitStack() as stack:
        informers = [await stack.enter_async_context(client.informer(gvr)) for gvr in gvrs]
        lagging = [server.inject(Refuse(404), when=lambda request: request.path in not_yet[1:])]
        lagging.append(server.inject(Freeze(), when=lambda request: request.path == "/apis"))
        for informer in informers:
            await informer.wait_state(ABSENT)
        for gvr in gvrs:
            server.register(Kind(gvr=gvr, kind="Widget", namespaced=True))
        await trio.sleep(100)
        assert {informer.state.phase for informer in informers} == {ABSENT}

        for fault in lagging:
            fault.remove()
        with trio.fail_after(31):
            for informer in informers:
                await informer.wait_state(LIVE)


@pytest.mark.scenario("F3", "P7")
@pytest.mark.parametrize("readable", [True, False])
async def test_3_discovery_that_still_lists_a_deleted_crd_does_not_bring_its_objects_back(
    server: APIServer, client: Client, readable: bool
) -> None:
    if not readable:  # then discovery is the only source
        server.inject(Refuse(403), resource=CRDS)
    server.create(crd())
    server.create(widget("a"))
    stale = server.inject(Freeze(), path_prefix="/apis/example.com")
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)
        server.delete(CRDS, "widgets.example.com")
        server.forget_requests()
        await trio.sleep(600)
        assert subscription.folded == {}
        assert widgets.list() == []
        assert len(request_times(server)) <= 40, "at most at the rate of the backoff"

        stale.remove()
        await trio.sleep(60)
        assert (widgets.state.phase, subscription.wrong) == (ABSENT, [])
