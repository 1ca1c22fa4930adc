"""K1-K7: informers that are created before their resource, or before they are entered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from dynkube import ABSENT, LIVE, STOPPED, Client, Informer, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import Recorder, names, put_widget, resource
from tests.contract.objects import config


def secret_of(obj: Unstructured) -> list[str]:
    return [obj["spec"]["secret"]] if "secret" in obj["spec"] else []


@pytest.mark.scenario("K1")
@pytest.mark.reads_bodies
async def test_an_index_added_before_the_crd_works_after_it(cluster: Cluster, client: Client) -> None:
    async with client.informer(resource(cluster)) as widgets:
        widgets.add_index("secret", secret_of)
        await widgets.wait_synced()
        assert widgets.by_index("secret", "one") == []

        await cluster.create_crd()
        await put_widget(cluster, "a", secret="one")
        last = await put_widget(cluster, "b", secret="two")
        await widgets.wait_state(LIVE)
        await widgets.wait_for(last)

        assert names(widgets.by_index("secret", "one")) == ["a"]


@pytest.mark.scenario("K2")
async def test_an_informer_and_a_crd_created_before_the_client_is_entered(
    cluster: Cluster, connect: Callable[[], Client]
) -> None:
    recorder = Recorder()
    client = connect()
    widgets = client.informer(resource(cluster))
    recorder.attach(widgets)
    await cluster.create_crd()

    async with client, widgets, trio.open_nursery() as nursery:
        nursery.start_soon(read_all_the_time, widgets)
        await widgets.wait_state(LIVE)
        await put_widget(cluster, "name")

        assert await recorder.take(1) == ["add/name"]
        assert names(widgets.list()) == ["name"]
        nursery.cancel_scope.cancel()


async def read_all_the_time(informer: Informer) -> None:
    while True:
        assert len(informer.list()) <= 1
        await trio.sleep(0.001)


@pytest.mark.scenario("K3")
async def test_a_crd_created_before_the_informer(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    recorder = Recorder()
    async with client.informer(resource(cluster, "gadgets")) as other:
        await other.wait_synced()

        async with client.informer(resource(cluster)) as widgets:
            recorder.attach(widgets)
            await widgets.wait_synced()
            await put_widget(cluster, "name")

            assert await recorder.take(1) == ["add/name"]
            assert names(widgets.list()) == ["name"]


@pytest.mark.scenario("K4", "F1")
async def test_a_crd_created_after_the_informer_has_started(cluster: Cluster, client: Client) -> None:
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert (widgets.has_synced, widgets.list(), widgets.state.phase) == (True, [], ABSENT)

        await cluster.create_crd()
        await put_widget(cluster, "name")

        await widgets.wait_state(LIVE)
        assert await recorder.take(1) == ["add/name"]
        assert names(widgets.list()) == ["name"]


@pytest.mark.scenario("K5")
async def test_an_informer_that_is_not_entered_is_stopped_and_empty(cluster: Cluster, client: Client) -> None:
    recorder = Recorder()
    widgets = client.informer(resource(cluster))
    recorder.attach(widgets)
    assert (widgets.has_synced, widgets.list(), widgets.state.phase) == (False, [], STOPPED)

    await cluster.create_crd()
    async with widgets:
        await widgets.wait_synced()
        await put_widget(cluster, "name")

        assert await recorder.take(1) == ["add/name"]
        assert len(widgets) == 1


@pytest.mark.scenario("K6", "F11")
async def test_a_built_in_resource_without_a_crd_is_listed_and_watched(cluster: Cluster, client: Client) -> None:
    await cluster.create("configmaps", config("item", labels={"a": "b"}))

    async with client.informer("configmaps.v1", namespace=cluster.namespace, label_selector="a=b") as configmaps:
        await configmaps.wait_synced()

        assert names(configmaps.list(namespace=cluster.namespace)) == ["item"]


@pytest.mark.scenario("K7", "P6")
async def test_an_informer_has_synced_when_handlers_have_processed_the_initial_objects(
    cluster: Cluster, client: Client
) -> None:
    await cluster.create_crd()
    await put_widget(cluster, "a")
    called, go_on = trio.Event(), trio.Event()
    handled = []

    async def slow(obj: Unstructured) -> None:
        called.set()
        await go_on.wait()
        handled.append(obj.name)

    widgets = client.informer(resource(cluster))
    widgets.add_handler(on_add=slow)
    async with widgets:
        await called.wait()
        assert (names(widgets.list()), widgets.has_synced) == (["a"], False)
        go_on.set()
        await widgets.wait_synced()

        assert handled == ["a"]
