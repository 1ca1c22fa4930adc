"""G8, G25 and failure mode 31: informers that are stopped and started again."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, STOPPED, Client
from dynkube.errors import ClosedError
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import CONFIGS, names, put, put_widget, resource, wait_live


@pytest.mark.scenario("G25", "F31")
async def test_an_informer_stops_with_its_last_user_and_starts_again_with_a_new_one(
    cluster: Cluster, client: Client
) -> None:
    for number in range(3):
        one = client.informer(CONFIGS, namespace=cluster.namespace)
        other = client.informer(CONFIGS, namespace=cluster.namespace)
        async with one, other:
            await wait_live(one, other)
            await other.wait_for(await put(cluster, f"w{number}"))
            assert (len(one), len(other), one.statistics().users) == (number + 1, number + 1, 2)
        assert (one.state.phase, one.list()) == (STOPPED, [])


@pytest.mark.scenario("F31")
@pytest.mark.parametrize("steps", [0, 2, 5, 11, 23])
async def test_31_a_new_user_can_enter_at_any_moment_while_the_last_one_exits(
    cluster: Cluster, client: Client, steps: int
) -> None:
    created = await put(cluster, "a")
    old = await client.informer(CONFIGS, namespace=cluster.namespace).__aenter__()
    await old.wait_synced()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(old.aclose)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        async with client.informer(CONFIGS, namespace=cluster.namespace) as new:
            await wait_live(new)
            await new.wait_for(created)  # the first list may be from a server's watch cache, which may lag

            assert names(new.list()) == ["a"]


@pytest.mark.scenario("F31")
@pytest.mark.parametrize("steps", [0, 5, 50])
async def test_31_a_crd_can_be_created_at_any_moment_while_an_informer_stops(
    cluster: Cluster, client: Client, steps: int
) -> None:
    async with client.informer(resource(cluster)) as widgets:
        await widgets.wait_synced()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cluster.create_crd)
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            await widgets.aclose()

    created = await put_widget(cluster, "a")
    async with client.informer(resource(cluster)) as again:
        await wait_live(again)
        await again.wait_for(created)
        assert names(again.list()) == ["a"]


@pytest.mark.scenario("G8")
async def test_an_informer_is_stopped_when_the_scope_around_it_is_cancelled(cluster: Cluster, client: Client) -> None:
    with trio.CancelScope() as scope:
        async with client.informer(resource(cluster)) as widgets:
            await widgets.wait_state(ABSENT)
            await cluster.create_crd()
            await wait_live(widgets)
            scope.cancel()
            await trio.sleep_forever()

    assert (widgets.state.phase, widgets.list()) == (STOPPED, [])
    with pytest.raises(ClosedError):
        widgets.add_handler(on_add=print)
