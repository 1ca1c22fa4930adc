"""G10-G12: filters that are changed while objects change."""

from __future__ import annotations

import pytest
import trio

from dynkube import Client, LabelFilter, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.informers.kit import CONFIGS, Recorder, change, names, put

HIDDEN = LabelFilter("hidden")
# Checkpoints between the two changes; on a real server the request takes some more milliseconds.
APART = [-40, -12, -5, 0, 5, 12, 40]


async def steps(count: int) -> None:
    for _ in range(count):
        await trio.lowlevel.checkpoint()


@pytest.mark.scenario("G10")
@pytest.mark.parametrize("offset", APART)
async def test_an_object_deleted_while_the_filter_hides_it_is_deleted_once(
    cluster: Cluster, client: Client, offset: int
) -> None:
    await put(cluster, "a")
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        recorder.attach(configs)
        assert await recorder.take(1) == ["add/a"]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(delayed_delete, cluster, max(offset, 0))
            await steps(max(-offset, 0))
            configs.set_filter(HIDDEN)
        await put(cluster, "mark", labels={"hidden": "no"})

        assert await recorder.take(2) == ["delete/a", "add/mark"]


async def delayed_delete(cluster: Cluster, count: int) -> None:
    await steps(count)
    await cluster.delete("configmaps", "a")


@pytest.mark.scenario("G11")
@pytest.mark.parametrize("offset", APART)
async def test_an_object_deleted_while_the_filter_shows_it_does_not_stay(
    cluster: Cluster, client: Client, offset: int
) -> None:
    await put(cluster, "a")
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=HIDDEN) as configs:
        recorder.attach(configs)
        await configs.wait_synced()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(delayed_delete, cluster, max(offset, 0))
            await steps(max(-offset, 0))
            configs.set_filter(None)
        await put(cluster, "mark")

        assert await recorder.until("add/mark") in (["add/mark"], ["add/a", "delete/a", "add/mark"])
        assert names(configs.list()) == ["mark"]


@pytest.mark.scenario("G12", "P3")
@pytest.mark.parametrize("after", [0, 3, 9])
async def test_a_filter_that_shows_an_object_during_updates_adds_it_once(
    cluster: Cluster, client: Client, after: int
) -> None:
    last = await put(cluster, "a")
    calls: list[tuple[str, int]] = []
    marked = trio.Event()

    def note(what: str, obj: Unstructured) -> None:
        if obj.name == "mark":
            marked.set()
        else:
            calls.append((what, int(obj.resource_version)))

    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=HIDDEN) as configs:
        configs.add_handler(on_add=lambda obj: note("add", obj), on_update=lambda old, new: note("update", new))
        await configs.wait_synced()
        for number in range(10):
            last = await change(cluster, "a", n=str(number))
            if number == after:
                configs.set_filter(None)
        await put(cluster, "mark")
        with trio.fail_after(GIVE_UP):
            await marked.wait()

        assert [what for what, _ in calls] == ["add"] + ["update"] * (len(calls) - 1)
        versions = [version for _, version in calls]
        assert versions == sorted(set(versions))
        assert versions[-1] == int(last.resource_version)
