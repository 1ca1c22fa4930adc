"""Reads on other threads while an informer applies thousands of changes: each read returns one complete version.

The server's history is totally ordered, so an informer always publishes a prefix of it. The writers here make prefixes
recognizable: a read that mixes two versions is not one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random

import pytest
import trio
import trio.lowlevel

import dynkube
from dynkube import Client, Informer, LabelFilter, NamespaceFilter, Unstructured
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, namespace, widget

pytestmark = pytest.mark.real_time

READERS = 3
OBJECTS = 40
GROUPS = 4


@pytest.fixture(autouse=True)
def _threads_take_turns_all_the_time() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[Client]:
    """A client whose caches keep few decoded bodies, so that bodies are decoded and dropped while threads read."""
    settings = dynkube.InformerSettings(random=Random(7), decoded_bodies=8)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        yield client


@asynccontextmanager
async def reading(read: Callable[[], None]) -> AsyncIterator[None]:
    """Repeat ``read`` on several threads until the block ends; exceptions of ``read`` are raised."""
    done = False
    begun = [trio.Event() for _ in range(READERS)]

    def repeat(number: int) -> None:
        read()
        trio.from_thread.run_sync(begun[number].set)
        while not done:
            read()
            time.sleep(0.001)  # gives the GIL to the event loop, which gets it every 15 ms only else, and falls behind

    async with trio.open_nursery() as nursery:
        for number in range(READERS):
            nursery.start_soon(trio.to_thread.run_sync, repeat, number)
        for event in begun:
            await event.wait()
        try:
            yield
        finally:
            done = True


def numbered(number: int, step: int) -> dict[str, object]:
    """The object written at a step; a complete version has the objects of consecutive steps."""
    name, labels = f"w{number}", {"step": str(step), "group": str(number % GROUPS)}
    return widget(name, f"ns{number % 2}", labels, step=step, nested={"steps": [step] * 20})


def steps(objects: list[Unstructured]) -> list[int]:
    return sorted(int(obj.labels["step"]) for obj in objects)


def consecutive(found: list[int], stride: int, many: int) -> bool:
    return found == list(range(found[0], found[0] + many * stride, stride)) if found else False


async def write(server: APIServer, first: int, last: int) -> Unstructured:
    """Replace one object after the other, some of them in one batch; return the last one."""
    written: dict[str, object] = {}
    for step in range(first, last):
        name, where = f"w{step % OBJECTS}", f"ns{step % OBJECTS % 2}"
        version = server.get("widgets", name, where)["metadata"]["resourceVersion"]
        obj = numbered(step % OBJECTS, step)
        written = server.update({**obj, "metadata": {**obj["metadata"], "resourceVersion": version}})  # type: ignore[dict-item]  # made above
        if step % 7 == 0:
            await trio.lowlevel.checkpoint()
        if step % 500 == 0:  # history is compacted, and a list brings the missed changes
            server.compact()
            server.end_watches("widgets", how="cut")
    return Unstructured(written)


@asynccontextmanager
async def widgets(server: APIServer, client: Client) -> AsyncIterator[Informer]:
    server.create(crd())
    for where in ("ns0", "ns1"):
        server.create(namespace(where))
    for step in range(OBJECTS):
        server.create(numbered(step, step))
    indexes = {"group": lambda obj: [obj.labels["group"]], "body": lambda obj: [str(obj["spec"]["step"] % GROUPS)]}
    async with client.informer(WIDGETS, indexes=indexes) as informer:
        await informer.wait_state(dynkube.LIVE)
        yield informer


async def test_a_list_is_one_complete_version(server: APIServer, client: Client) -> None:
    async with widgets(server, client) as informer:

        def read() -> None:
            assert consecutive(steps(informer.list()), 1, OBJECTS)
            assert consecutive(steps(informer.list(namespace="ns1")), 2, OBJECTS // 2)
            assert len(informer) == len(list(informer)) == OBJECTS

        async with reading(read):
            await informer.wait_for(await write(server, OBJECTS, 1600))


async def test_an_index_is_one_complete_version_and_agrees_with_its_objects(server: APIServer, client: Client) -> None:
    async with widgets(server, client) as informer:

        def read() -> None:
            for group in range(GROUPS):
                for index in ("group", "body"):
                    found = informer.by_index(index, str(group))
                    assert {obj["spec"]["step"] % GROUPS for obj in found} == {group}
                    assert consecutive(steps(found), GROUPS, OBJECTS // GROUPS)

        async with reading(read):
            last = await write(server, OBJECTS, 1200)
            informer.add_index("late", lambda obj: [obj.labels["group"]])
            assert len(informer.by_index("late", "1")) == OBJECTS // GROUPS
            await informer.wait_for(last)


async def test_an_object_never_goes_back_and_its_body_matches_its_header(server: APIServer, client: Client) -> None:
    async with widgets(server, client) as informer:

        def read() -> None:
            last = -1
            for _ in range(20):
                obj = informer.get("w3", namespace="ns1")
                assert obj is not None
                step = int(obj.labels["step"])
                assert (obj["spec"]["step"], obj["spec"]["nested"]["steps"]) == (step, [step] * 20)
                assert obj.jsonpath("{.spec.nested.steps[0]}") == [obj.to_dict()["spec"]["step"]] == [step]
                assert step >= last
                last = step

        async with reading(read):
            await write(server, OBJECTS, 1200)


async def test_bodies_that_are_decoded_and_dropped_are_read_by_many_threads(server: APIServer, client: Client) -> None:
    async with widgets(server, client) as informer:

        def read() -> None:
            for obj in informer.list():
                step = int(obj.labels["step"])
                assert (len(obj), obj["spec"]["step"], obj.annotations) == (4, step, {})
                assert {**obj}["metadata"]["labels"] == obj.labels
                assert obj == obj.to_dict()

        async with reading(read):
            await write(server, OBJECTS, 600)


async def test_while_a_filter_changes_reads_show_the_old_or_the_new_result(server: APIServer, client: Client) -> None:
    async with widgets(server, client) as informer:
        none, one, two = LabelFilter("none"), LabelFilter("group=1"), LabelFilter("group in (2,3)")
        expected = [{"0", "1", "2", "3"}, {"1"}, {"2", "3"}]

        def read() -> None:
            objects = informer.list()
            groups = {obj.labels["group"] for obj in objects}
            assert groups in expected
            assert len(objects) == len(groups) * OBJECTS // GROUPS

        async with reading(read):
            for round_ in range(300):
                informer.set_filter((one, two, ~none)[round_ % 3])
                await trio.lowlevel.checkpoint()


@pytest.mark.scenario("F34")
async def test_while_namespaces_change_reads_show_all_objects_of_a_namespace_or_none(
    server: APIServer, client: Client
) -> None:
    async with widgets(server, client) as informer:
        async with informer.events() as events:
            informer.set_filter(NamespaceFilter("chosen"))
            label(server, "ns0", chosen=True)
            while not informer.list():
                await anext(events)

        def read() -> None:
            count = dict.fromkeys(("ns0", "ns1"), 0)
            for obj in informer.list():
                count[obj.namespace] += 1
            # The next namespace is chosen before the previous one is released, so no version without either was
            # published.
            assert set(count.values()) in ({OBJECTS // 2}, {0, OBJECTS // 2})

        async with reading(read):
            for round_ in range(200):
                label(server, f"ns{(round_ + 1) % 2}", chosen=True)
                await trio.lowlevel.checkpoint()
                label(server, f"ns{round_ % 2}", chosen=False)
                await trio.lowlevel.checkpoint()
                if round_ % 20 == 0:  # the replaced filter stops following namespaces during the reads
                    informer.set_filter(NamespaceFilter("chosen"))
                    await informer.wait_state(dynkube.LIVE)


def label(server: APIServer, name: str, *, chosen: bool) -> None:
    obj = server.get("namespaces", name)
    labels = {**obj["metadata"].get("labels", {}), "chosen": "yes"}
    if not chosen:
        del labels["chosen"]
    server.update({**obj, "metadata": {**obj["metadata"], "labels": labels}})


async def test_a_read_during_which_the_informer_is_closed_shows_no_hidden_objects(
    server: APIServer, client: Client
) -> None:
    def close_and_hide(obj: Unstructured) -> bool:
        if closing:
            closing.clear()
            trio.from_thread.run(widgets.aclose)
        return False

    server.create(crd())
    server.create(widget("w1"))
    async with client.informer(WIDGETS) as widgets:
        closing: list[bool] = []
        widgets.set_filter(close_and_hide)
        assert widgets.list() == []

        closing.append(True)
        assert await trio.to_thread.run_sync(widgets.list) == []
