"""K31, K32, K36, K37: guarantees of an informer for its handlers and readers."""

from __future__ import annotations

from collections import Counter

import pytest
import trio

from dynkube import Client, LabelFilter, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import CONFIGS, Recorder, change, names, put


@pytest.mark.scenario("K31")
async def test_each_initial_object_that_passes_the_filter_is_added_once(cluster: Cluster, client: Client) -> None:
    for number in range(9):
        await put(cluster, f"w{number}", labels={"revision": f"r{number % 3}"})
    seen: Counter[str] = Counter()

    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=LabelFilter("revision=r1")) as configs:
        handle = configs.add_handler(on_add=lambda obj: seen.update([obj.name]))
        await handle.wait_synced()

        assert seen == {"w1": 1, "w4": 1, "w7": 1}


@pytest.mark.scenario("K32", "P6")
async def test_handlers_have_received_the_initial_objects_when_the_informer_has_synced(
    cluster: Cluster, client: Client
) -> None:
    await put(cluster, "a")
    counts = [0, 0]

    def count(which: int) -> None:
        counts[which] += 1

    configs = client.informer(CONFIGS, namespace=cluster.namespace)
    configs.add_handler(on_add=lambda obj: count(0))
    async with configs:
        configs.add_handler(on_add=lambda obj: count(1))
        await configs.wait_synced()

        assert counts == [1, 1]


@pytest.mark.scenario("K36", "P5")
@pytest.mark.one_collection("reads an object without its namespace")
async def test_reads_in_a_handler_show_the_state_of_its_event(cluster: Cluster, client: Client) -> None:
    calls: list[tuple[str, list[str], object]] = []

    def note(event: str, obj: Unstructured) -> None:
        calls.append((event, names(configs.list()), configs.get(obj.name) is obj))

    recorder = Recorder(also=note)
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        await put(cluster, "a")
        await recorder.until("add/a")
        await change(cluster, "a", n="1")
        await recorder.until("update/a")
        await put(cluster, "b")
        await recorder.until("add/b")

        assert calls == [("add/a", ["a"], True), ("update/a", ["a"], True), ("add/b", ["a", "b"], True)]
        late = Recorder()
        late.attach(configs)
        assert sorted(await late.take(2)) == ["add/a", "add/b"]


@pytest.mark.scenario("K37")
@pytest.mark.one_collection("reads an object without its namespace")
async def test_a_late_handler_is_synced_when_it_has_received_all_objects(cluster: Cluster, client: Client) -> None:
    early, late = Recorder(), Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        assert configs.list() == []
        first = early.attach(configs)
        await first.wait_synced()

        await put(cluster, "a")
        assert await early.take(1) == ["add/a"]
        assert (configs.get("a") is not None, names(configs.list())) == (True, ["a"])

        second = late.attach(configs)
        assert second.has_synced is False
        await second.wait_synced()
        assert late.untaken == ["add/a"]


@pytest.mark.scenario("K37", "F27", "P9")
async def test_a_handler_that_blocks_for_ever_does_not_delay_others(cluster: Cluster, client: Client) -> None:
    await put(cluster, "a")
    other = Recorder()

    async def block(obj: Unstructured) -> None:
        await trio.sleep_forever()

    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        blocked = configs.add_handler(on_add=block)
        other.attach(configs)
        assert await other.take(1) == ["add/a"]

        for name in ("b", "c"):
            await put(cluster, name)
            assert await other.take(1) == [f"add/{name}"]

        another = Recorder()
        another.attach(configs)
        assert sorted(await another.take(3)) == ["add/a", "add/b", "add/c"]
        assert (blocked.has_synced, blocked.backlog) == (False, 2)


@pytest.mark.scenario("K37", "G5", "F29", "P2")
@pytest.mark.parametrize("after", [0, 7, 19])
async def test_a_handler_that_registers_during_creates_gets_each_object_once(
    cluster: Cluster, client: Client, after: int
) -> None:
    recorder, created = Recorder(), [trio.Event() for _ in range(20)]
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs, trio.open_nursery() as nursery:
        await configs.wait_synced()

        async def create(number: int) -> None:
            await put(cluster, f"w{number}")
            created[number].set()

        for number in range(20):
            nursery.start_soon(create, number)
        await created[after].wait()
        recorder.attach(configs)
        for event in created:
            await event.wait()
        await put(cluster, "mark")

        assert sorted(await recorder.until("add/mark")) == sorted([*(f"add/w{n}" for n in range(20)), "add/mark"])


@pytest.mark.scenario("K37", "F33")
@pytest.mark.reads_bodies
async def test_a_recreated_object_is_deleted_and_added(cluster: Cluster, client: Client) -> None:
    await put(cluster, "a")
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        recorder.attach(configs)
        assert await recorder.take(1) == ["add/a"]

        await cluster.delete("configmaps", "a")
        await put(cluster, "a", n="2")

        assert await recorder.take(2) == ["delete/a", "add/a"]
        assert [obj["data"] for obj in configs] == [{"n": "2"}]
