"""K27, K31, K32, K36, K37: what consumers of a collection may rely on."""

from __future__ import annotations

from collections import Counter

import pytest
import trio

from dynkube import Added, Client, Deleted, LabelFilter, Unstructured
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, replace, widget


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())


async def test_k27_a_delete_that_was_missed_looks_like_any_other(server: APIServer, client: Client) -> None:
    server.create(widget("seen"))
    server.create(widget("missed"))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        added = [await anext(events), await anext(events)]
        assert {type(event) for event in added} == {Added}

        server.delete("widgets", "seen")
        first = await anext(events)
        server.end_watches(resource="widgets")
        server.delete("widgets", "missed")
        server.compact()
        second = await anext(events)

        assert isinstance(first, Deleted)
        assert isinstance(second, Deleted)
        assert (first.object.name, second.object.name) == ("seen", "missed")


async def test_k31_the_initial_objects_come_once_each_and_only_those_chosen(server: APIServer, client: Client) -> None:
    for number in range(9):
        server.create(widget(f"w{number}", labels={"revision": f"r{number % 3}"}))
    seen: Counter[str] = Counter()

    async with client.informer(WIDGETS, filter=LabelFilter("revision=r1")) as widgets:
        handle = widgets.add_handler(on_add=lambda obj: seen.update([obj.name]))
        await handle.wait_synced()

        assert seen == {"w1": 1, "w4": 1, "w7": 1}


async def test_k32_its_handlers_have_counted_when_it_has_synced(server: APIServer, client: Client) -> None:
    server.create(widget("a"))
    counts = [0, 0]

    def count(which: int) -> None:
        counts[which] += 1

    widgets = client.informer(WIDGETS)
    widgets.add_handler(on_add=lambda obj: count(0))
    async with widgets:
        widgets.add_handler(on_add=lambda obj: count(1))
        await widgets.wait_synced()

        assert counts == [1, 1]


async def test_k36_reads_show_the_state_of_the_event(server: APIServer, client: Client) -> None:
    told: list[tuple[str, list[str], object]] = []

    def note(event: str, obj: Unstructured) -> None:
        cached = widgets.get(obj.name, namespace="default")
        told.append((f"{event}/{obj.name}", names(widgets.list()), cached is obj))

    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(on_add=lambda obj: note("add", obj), on_update=lambda old, new: note("update", new))
        await widgets.wait_synced()
        for act in (
            lambda: server.create(widget("a")),
            lambda: replace(server, widget("a", n=1)),
            lambda: server.create(widget("b")),
        ):
            act()
            await quiet()

        assert told == [("add/a", ["a"], True), ("update/a", ["a"], True), ("add/b", ["a", "b"], True)]
        late = Recorder()
        late.attach(widgets)
        assert sorted(await late.drain()) == ["add/a", "add/b"]


async def test_k37_an_early_handler_is_synced_and_a_late_one_when_it_has_received(
    server: APIServer, client: Client
) -> None:
    early, late = Recorder(), Recorder()
    async with client.informer(WIDGETS) as widgets:
        assert widgets.list() == []
        first = early.attach(widgets)
        await first.wait_synced()

        server.create(widget("a"))
        assert await early.drain() == ["add/a"]
        assert (widgets.get("a", namespace="default") is not None, names(widgets.list())) == (True, ["a"])

        second = late.attach(widgets)
        assert second.has_synced is False
        await second.wait_synced()
        assert late.events == ["add/a"]


async def test_k37_a_handler_that_blocks_for_ever_hinders_nobody(server: APIServer, client: Client) -> None:
    server.create(widget("a"))
    other = Recorder()

    async def block(obj: Unstructured) -> None:
        await trio.sleep_forever()

    async with client.informer(WIDGETS) as widgets:
        blocked = widgets.add_handler(on_add=block)
        other.attach(widgets)
        assert await other.drain() == ["add/a"]

        for name in ("b", "c"):
            server.create(widget(name))
            assert await other.drain() == [f"add/{name}"]

        another = Recorder()
        another.attach(widgets)
        assert sorted(await another.drain()) == ["add/a", "add/b", "add/c"]
        assert (blocked.has_synced, blocked.backlog) == (False, 2)


@pytest.mark.parametrize("steps", range(0, 40, 3))
async def test_k37_g5_a_handler_that_registers_during_creates_gets_each_object_once(
    server: APIServer, client: Client, steps: int
) -> None:
    seen: Counter[str] = Counter()
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:
        await widgets.wait_synced()

        async def create_all() -> None:
            for number in range(20):
                server.create(widget(f"w{number}"))
                await trio.lowlevel.checkpoint()

        nursery.start_soon(create_all)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        widgets.add_handler(on_add=lambda obj: seen.update([obj.name]))
        await quiet()

        assert seen == {f"w{number}": 1 for number in range(20)}


async def test_k37_another_object_of_the_same_name_is_deleted_and_added(server: APIServer, client: Client) -> None:
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        assert await recorder.drain() == ["add/a"]

        server.delete("widgets", "a")
        server.create(widget("a", n=2))

        assert await recorder.drain() == ["delete/a", "add/a"]
        assert [obj["spec"] for obj in widgets] == [{"n": 2}]
