"""K8-K10, K23, K24: informers on resources that are there."""

from __future__ import annotations

import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, Client
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, replace, widget


def small(obj: dynkube.Unstructured) -> bool:
    return bool(obj["spec"]["value"] < 100)


async def test_k8_objects_and_updates_that_cross_a_static_filter(server: APIServer, client: Client) -> None:
    server.create(crd())
    recorder = Recorder()
    async with client.informer(WIDGETS, filter=small) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)

        server.create(widget("1", value=1))
        assert await recorder.drain() == ["add/1"]
        assert names(widgets.list(namespace="default")) == names(widgets.list()) == ["1"]

        replace(server, widget("1", value=2))
        assert await recorder.drain() == ["update/1"]
        assert [obj["spec"] for obj in widgets] == [{"value": 2}]

        server.create(widget("3", value=100))
        server.create(widget("2", value=10))
        assert await recorder.drain() == ["add/2"]
        assert (names(widgets.list()), widgets.get("3", namespace="default")) == (["1", "2"], None)

        replace(server, widget("3", value=5))
        assert await recorder.drain() == ["add/3"]

        replace(server, widget("3", value=150))
        assert await recorder.drain() == ["delete/3"]
        assert widgets.get("3", namespace="default") is None


async def test_k8_deletes_of_what_the_filter_hides_are_not_told(server: APIServer, client: Client) -> None:
    server.create(crd())
    for name, value in (("1", 1), ("2", 10), ("3", 100)):
        server.create(widget(name, value=value))
    recorder = Recorder()
    async with client.informer(WIDGETS, filter=small) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert sorted(await recorder.drain()) == ["add/1", "add/2"]

        for name in ("3", "2", "1"):
            server.delete("widgets", name)

        assert await recorder.drain() == ["delete/2", "delete/1"]
        assert widgets.list() == []


async def test_k9_a_removed_handler_hears_nothing_and_the_others_go_on(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("1"))
    one, two = Recorder(), Recorder()
    async with client.informer(WIDGETS) as widgets:
        first, second = one.attach(widgets), two.attach(widgets)
        assert (await one.drain(), await two.drain()) == (["add/1"], ["add/1"])

        second.remove()
        replace(server, widget("1", n=1))
        assert (await one.drain(), await two.drain()) == (["update/1"], [])

        first.remove()
        replace(server, widget("1", n=2))
        assert (await one.drain(), await two.drain()) == ([], [])


async def test_k10_an_api_on_which_every_call_fails_is_counted_and_shown(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.fail(resource="widgets", status=500)

    async with client.informer(WIDGETS) as widgets:
        state = await widgets.wait_state(DEGRADED)

        assert (state.reason, widgets.has_synced) == ("InternalError", False)
        assert widgets.statistics().failures >= 1
        assert "500" in widgets.statistics().last_error


async def test_k23_a_client_without_informers_reads_what_is_there(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("x"))

    assert names(await client.resource(WIDGETS).list()) == ["x"]
    assert names(await client.resource("namespaces").list()) == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]


async def test_k24_a_crd_gives_an_informer_that_can_be_started(server: APIServer, client: Client) -> None:
    server.create(crd("gadgets", group="tools.dev"))

    async with client.informer("gadgets.v1.tools.dev") as gadgets:
        await gadgets.wait_synced()

        assert gadgets.list() == []


async def test_k22_nothing_is_left_when_a_client_was_left(server: APIServer) -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with dynkube.connect(transport=server.transport()) as client:
        async with client.informer(WIDGETS) as widgets, client.informer("pods.v1") as pods:
            Recorder().attach(pods)
            pods.set_filter(dynkube.NamespaceFilter("a=b"))
            await widgets.wait_synced()
            await pods.wait_synced()
        await quiet()

        assert server.open_watches == ()
    await quiet()

    assert trio.lowlevel.current_statistics().tasks_living == before


async def test_a_singular_where_a_plural_belongs_is_absent_with_a_hint(server: APIServer, client: Client) -> None:
    async with client.informer("pod.v1") as pods:
        state = await pods.wait_state(ABSENT)

        assert (state.reason, "serves pods.v1 (resources are named by their plural)" in state.message) == (
            "NotServed",
            True,
        )
