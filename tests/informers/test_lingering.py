"""A shared watch lingers for some seconds after its last user has left, so that it can be used again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest
import trio

import dynkube
from dynkube import LIVE, Client, NamespaceFilter
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, names, quiet, widget


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[Client]:
    settings = dynkube.InformerSettings(random=Random(7), linger=3)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        yield client


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


def watched(server: APIServer, resource: str = "widgets") -> int:
    return sum(watch.resource.resource == resource for watch in server.open_watches)


def count_requests(server: APIServer, resource: str) -> int:
    return sum(r.resource is not None and r.resource.resource == resource for r in server.requests)


@pytest.mark.scenario("G25", "P12")
async def test_an_informer_entered_within_the_linger_time_uses_the_same_cache_and_watch(
    server: APIServer, client: Client
) -> None:
    async with client.informer(WIDGETS) as first:
        await first.wait_state(LIVE)
    await trio.sleep(2.9)
    server.create(widget("b"))
    await quiet()

    async with client.informer(WIDGETS) as second:
        assert (second.state.phase, names(second), count_requests(server, "widgets")) == (LIVE, ["a", "b"], 1)
        await trio.sleep(10)
        assert watched(server) == 1


@pytest.mark.scenario("G25")
async def test_after_the_linger_time_the_watch_ends_and_the_cache_is_freed(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

    assert [(each.gvr.resource, each.users) for each in client.informers()] == [("widgets", 0)]
    await trio.sleep(3.1)

    assert (client.informers(), server.open_watches) == ((), ())
    async with client.informer(WIDGETS) as again:
        await again.wait_state(LIVE)
        assert names(again) == ["a"]


async def test_filters_that_change_a_hundred_times_a_second_share_one_watch(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        for number in range(500):
            widgets.set_filter(NamespaceFilter("team=a") if number % 2 == 0 else None)
            await trio.sleep(0.01)

        assert count_requests(server, "namespaces") == 1
        await trio.sleep(3.1)
        assert watched(server, "namespaces") == 0


@pytest.mark.scenario("K22", "F37")
async def test_closing_a_client_does_not_wait_for_lingering_watches(server: APIServer) -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    settings = dynkube.InformerSettings(linger=1000)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        async with client.informer(WIDGETS) as widgets:
            await widgets.wait_state(LIVE)
        began = trio.current_time()
    await quiet()

    assert (trio.current_time() - began, server.open_watches) == (0, ())
    assert trio.lowlevel.current_statistics().tasks_living == before


async def test_at_most_sixteen_watches_linger_at_once(server: APIServer, client: Client) -> None:
    for number in range(40):
        async with client.informer("configmaps.v1.", namespace=f"n{number}") as maps:
            await maps.wait_state(LIVE)

    lingering = [each.namespace for each in client.informers()]
    assert lingering == [f"n{number}" for number in range(24, 40)]


async def test_an_informer_can_be_left_after_its_client_was_closed(server: APIServer) -> None:
    client = dynkube.connect(transport=server.transport())
    async with client:
        widgets = client.informer(WIDGETS)
        await widgets.__aenter__()

    await widgets.aclose()

    assert server.open_watches == ()


@pytest.mark.parametrize("given", [-1, "3", None])
async def test_an_invalid_linger_time_is_rejected(given: object) -> None:
    with pytest.raises(InvalidInput, match="linger must be a number"):
        dynkube.InformerSettings(linger=given)  # type: ignore[arg-type]


async def test_an_informer_whose_client_was_closed_has_no_users(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        widgets = await client.informer(WIDGETS).__aenter__()
        assert widgets.statistics().users == 1

    assert widgets.statistics().users == 0
    await widgets.aclose()
