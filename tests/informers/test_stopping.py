"""A stopped informer delivers nothing more, can be stopped again and keeps no memory; stopping waits for no server."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, STOPPED, Client, Informer, LabelFilter, Unstructured
from dynkube.errors import ClosedError
from dynkube.informers import IndexFunc
from dynkube_testing import APIServer, Hang
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, replace, widget


@pytest.mark.scenario("F31")
async def test_an_informer_may_be_closed_twice_and_by_two_tasks(server: APIServer, client: Client) -> None:
    server.create(crd())
    widgets = await client.informer(WIDGETS).__aenter__()
    await widgets.wait_state(LIVE)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(widgets.aclose)
        nursery.start_soon(widgets.aclose)
    await widgets.aclose()

    assert (widgets.state.phase, widgets.list(), server.open_watches) == (STOPPED, [], ())


@pytest.mark.scenario("F31", "P4")
async def test_a_closed_informer_delivers_nothing_and_takes_no_handler(server: APIServer, client: Client) -> None:
    server.create(crd())
    recorder = Recorder()
    async with client.informer(WIDGETS) as other, client.informer(WIDGETS) as widgets:
        registration = recorder.attach(widgets)
        await other.wait_state(LIVE)
        server.create(widget("a"))
        await widgets.aclose()  # before any event was delivered
        registration.remove()
        registration.remove()
        server.create(widget("b"))

        assert (await recorder.drain(), names(other.list())) == ([], ["a", "b"])
        with pytest.raises(ClosedError):
            recorder.attach(widgets)
        with pytest.raises(ClosedError):
            await widgets.__aenter__()


@pytest.mark.scenario("F31")
@pytest.mark.parametrize("steps", range(0, 30, 3))
async def test_an_informer_entered_while_the_last_user_leaves_gets_a_new_watch(
    server: APIServer, client: Client, steps: int
) -> None:
    server.create(crd())
    old = await client.informer(WIDGETS).__aenter__()
    await old.wait_state(LIVE)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(old.aclose)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        async with client.informer(WIDGETS) as new:
            await new.wait_state(LIVE)
            await new.wait_for(Unstructured(server.create(widget("a"))))
            await quiet()

            assert names(new.list()) == ["a"]
            assert [watch.resource.resource for watch in server.open_watches].count("widgets") == 1


HANGING = [("widgets", "list"), ("widgets", "watch"), (CRDS, "list"), (CRDS, "watch"), (None, None)]


@pytest.mark.scenario("F37")
@pytest.mark.parametrize(("resource", "verb"), HANGING)
async def test_leaving_does_not_wait_for_a_response(server: APIServer, resource: str | None, verb: str | None) -> None:
    server.create(crd())
    fault = server.inject(Hang(), resource=resource, verb=verb)

    settings = dynkube.InformerSettings(streaming_lists=False)
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS),
    ):
        await trio.sleep(5)
        assert fault.hits

    assert (trio.current_time(), server.open_watches) == (5, ())


@pytest.mark.real_time
@pytest.mark.scenario("F37")
async def test_leaving_kills_a_running_exec_plugin(tmp_path: Path) -> None:
    plugin, fifo = tmp_path / "plugin", tmp_path / "fifo"
    source = "import os, time\nopen(os.environ['FIFO'], 'w').close()\ntime.sleep(3600)"
    plugin.write_text(f"#!{sys.executable} -IS\n{source}")
    plugin.chmod(0o755)
    exec_ = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin),
        "interactiveMode": "Never",
        "env": [{"name": "FIFO", "value": str(fifo)}],
    }
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"exec": exec_}}],
    }
    os.mkfifo(fifo)

    with trio.fail_after(30):
        async with dynkube.connect(kubeconfig=kubeconfig) as client, client.informer("pods.v1"):
            await trio.to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)  # the plugin is running


@pytest.mark.scenario("F30")
async def test_a_resource_without_a_response_does_not_delay_others(server: APIServer, client: Client) -> None:
    for plural in ("widgets", "gadgets"):
        server.create(crd(plural))
    server.inject(Hang(), resource="gadgets")
    async with client.informer("gadgets.v1.example.com") as gadgets, client.informer(WIDGETS) as widgets:
        recorder = Recorder()
        recorder.attach(widgets)
        recorder.attach(gadgets)
        await widgets.wait_state(LIVE)
        await widgets.wait_for(Unstructured(server.create(widget("a"))))
        gadgets.set_filter(LabelFilter("x"))
        async with client.informer("gadgets.v1.example.com", label_selector="y=z"):
            await quiet()

        assert (await recorder.drain(), names(widgets.list()), trio.current_time()) == (["add/a"], ["a"], 0)
        assert (gadgets.state.phase, gadgets.list()) == (dynkube.SYNCING, [])


def delete_the_crd(server: APIServer, widgets: Informer) -> None:
    server.delete(CRDS, "widgets.example.com")


def change_all(server: APIServer, widgets: Informer) -> None:
    for number in range(20):
        replace(server, widget(f"w{number}", generation=2))


def change_all_unseen(server: APIServer, widgets: Informer) -> None:
    server.end_watches("widgets")
    change_all(server, widgets)
    server.compact()


@pytest.mark.scenario("F36")
@pytest.mark.parametrize("swap", [delete_the_crd, change_all, change_all_unseen])
async def test_objects_that_are_not_shown_any_more_are_freed(
    server: APIServer, client: Client, swap: Callable[[APIServer, Informer], None]
) -> None:
    server.create(crd())
    for number in range(20):
        server.create(widget(f"w{number}", host="a"))
    indexes: dict[str, str | IndexFunc] = {"host": "{.spec.host}", "name": lambda obj: [obj.name]}
    async with client.informer(WIDGETS, indexes=indexes) as widgets:
        registration = widgets.add_handler(on_add=lambda obj: None)
        await registration.wait_synced()
        old = {obj.json for obj in widgets.list() if obj["spec"]["host"] == "a"}

        swap(server, widgets)
        await trio.sleep(60)
        gc.collect()

        assert widgets.state.phase in {ABSENT, LIVE}
        assert [obj for obj in gc.get_objects() if isinstance(obj, Unstructured) and obj.json in old] == []
        assert (widgets.by_index("host", "a"), registration.backlog) == ([], 0)


@pytest.mark.scenario("F36")
async def test_a_replaced_filter_is_freed(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))

    def predicate(obj: Unstructured) -> bool:
        return True

    async with client.informer(WIDGETS, filter=predicate) as widgets:
        await widgets.wait_state(LIVE)
        gone = weakref.ref(predicate)
        del predicate
        widgets.set_filter(None)
        await quiet()
        gc.collect()

        assert gone() is None
