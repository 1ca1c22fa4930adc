"""K1-K7: informers on resources that come late."""

from __future__ import annotations

import trio

import dynkube
from dynkube import ABSENT, LIVE, STOPPED, Client, Unstructured
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, widget


def secret_of(obj: Unstructured) -> list[str]:
    return [obj["spec"]["secret"]] if "secret" in obj["spec"] else []


async def test_k1_an_index_made_before_the_crd_works_after_it(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        widgets.add_index("secret", secret_of)
        await widgets.wait_synced()
        assert widgets.by_index("secret", "one") == []

        server.create(crd())
        server.create(widget("a", secret="one"))
        server.create(widget("b", secret="two"))
        await widgets.wait_state(LIVE)
        await quiet()

        assert names(widgets.by_index("secret", "one")) == ["a"]


async def test_k2_a_crd_and_an_informer_that_are_there_before_anything_runs(server: APIServer) -> None:
    recorder = Recorder()
    client = dynkube.connect(transport=server.transport())
    widgets = client.informer(WIDGETS)
    recorder.attach(widgets)
    server.create(crd())

    async with client, widgets, trio.open_nursery() as nursery:
        nursery.start_soon(read_all_the_time, widgets)
        await widgets.wait_state(LIVE)
        server.create(widget("name"))

        assert await recorder.drain() == ["add/name"]
        assert names(widgets.list()) == ["name"]
        nursery.cancel_scope.cancel()


async def read_all_the_time(informer: dynkube.Informer) -> None:
    while True:
        assert len(informer.list()) <= 1
        await trio.sleep(0.001)


async def test_k3_a_crd_that_is_known_before_the_informer_is_made(server: APIServer, client: Client) -> None:
    server.create(crd())
    recorder = Recorder()
    async with client.informer("gadgets.v1.example.com") as other:
        await other.wait_synced()

        async with client.informer(WIDGETS) as widgets:
            recorder.attach(widgets)
            await widgets.wait_synced()
            server.create(widget("name"))

            assert await recorder.drain() == ["add/name"]
            assert names(widgets.list()) == ["name"]


async def test_k4_a_crd_that_arrives_after_the_start(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert (widgets.has_synced, widgets.list(), widgets.state.phase) == (True, [], ABSENT)

        server.create(crd())
        server.create(widget("name"))

        await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/name"]
        assert names(widgets.list()) == ["name"]


async def test_k5_nothing_runs_before_it_is_entered(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    widgets = client.informer(WIDGETS)
    recorder.attach(widgets)
    await quiet()
    assert (widgets.has_synced, widgets.list(), widgets.state.phase) == (False, [], STOPPED)
    assert server.requests == []

    server.create(crd())
    async with widgets:
        await widgets.wait_synced()
        server.create(widget("name"))

        assert await recorder.drain() == ["add/name"]
        assert len(widgets) == 1


async def test_k6_a_kind_that_no_crd_defines_is_listed_and_watched(server: APIServer, client: Client) -> None:
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fake-item", "namespace": "default"}})

    async with client.informer("configmaps.v1") as configmaps:
        with trio.fail_after(1):
            await configmaps.wait_synced()

        assert names(configmaps.list(namespace="default")) == ["fake-item"]


async def test_k7_handlers_are_done_with_the_initial_objects_when_it_has_synced(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    handled = []

    async def slow(obj: Unstructured) -> None:
        await trio.sleep(5)
        handled.append(obj.name)

    widgets = client.informer(WIDGETS)
    widgets.add_handler(on_add=slow)
    async with widgets:
        await widgets.wait_synced()

        assert handled == ["a"]
