"""G5-G7, G18, G26, G27 and P4: handlers and indexes that are added and removed, are slow, or raise."""

from __future__ import annotations

import logging

import pytest
import trio

from dynkube import ABSENT, Client, Unstructured
from dynkube.errors import ClosedError
from dynkube.meta import InformerEvent
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import CONFIGS, Recorder, change, names, put, put_widget, resource, wait_live


@pytest.mark.scenario("G18", "P4")
async def test_a_handler_is_never_run_concurrently_with_itself(cluster: Cluster, client: Client) -> None:
    running, most = 0, 0

    async def handle(*objects: Unstructured) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        running -= 1

    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        configs.add_handler(on_add=handle, on_update=handle, on_delete=handle)
        recorder.attach(configs)
        for number in range(3):
            await put(cluster, f"w{number}")
            await change(cluster, f"w{number}", n="1")
            configs.set_filter(lambda obj: obj.name != "w1")
            configs.set_filter(None)
        await put(cluster, "mark")
        await recorder.until("add/mark")

        assert most == 1


@pytest.mark.scenario("G27", "F27", "P9")
@pytest.mark.reads_bodies
async def test_a_slow_handler_delays_no_other_and_its_backlog_has_one_event_per_object(
    cluster: Cluster, client: Client
) -> None:
    slow: list[tuple[str, object]] = []
    go_on, last = trio.Event(), trio.Event()

    async def handle(old: Unstructured, new: Unstructured) -> None:
        slow.append((new.name, new["data"]["n"]))
        await go_on.wait()
        if len(slow) == 3:
            last.set()

    for name in ("a", "b"):
        await put(cluster, name, n="0")
    quick = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        registration = configs.add_handler(on_update=handle)
        quick.attach(configs)
        await quick.take(2)
        for number in range(1, 11):
            for name in ("a", "b"):
                await change(cluster, name, n=str(number))
                assert await quick.take(1) == [f"update/{name}"]

        assert registration.backlog == 2
        go_on.set()
        await last.wait()
        assert slow == [("a", "1"), ("b", "10"), ("a", "10")]


@pytest.mark.scenario("G26", "F28", "P10")
async def test_an_error_in_a_handler_is_counted_and_all_handlers_continue(
    cluster: Cluster, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await put(cluster, "a")
    errors: list[tuple[str, InformerEvent]] = []
    other = Recorder()

    def fail(obj: Unstructured) -> None:
        raise ValueError(obj.name)

    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        logged = configs.add_handler(on_add=fail, name="logged")
        called = configs.add_handler(on_add=fail, on_error=lambda exc, event: errors.append((str(exc), event)))
        other.attach(configs)
        await configs.wait_synced()
        await put(cluster, "b")
        assert await other.take(2) == ["add/a", "add/b"]
        await put(cluster, "c")
        assert await other.take(1) == ["add/c"]

        for handle in (logged, called):
            assert handle.statistics().handled == handle.statistics().errors >= 2
            assert handle.statistics().last_error.startswith("ValueError: ")
        assert [text for text, _ in errors][:2] == ["a", "b"]
        records = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert {"logged" in record.getMessage() for record in records} == {True}


@pytest.mark.scenario("G7", "F29", "P4")
async def test_handlers_added_before_and_after_the_crd_can_be_removed(cluster: Cluster, client: Client) -> None:
    before, stays, after = Recorder(), Recorder(), Recorder()
    async with client.informer(resource(cluster)) as widgets:
        early = before.attach(widgets)
        stays.attach(widgets)
        await widgets.wait_state(ABSENT)
        await cluster.create_crd()
        await wait_live(widgets)
        late = after.attach(widgets)
        await late.wait_synced()

        early.remove()
        late.remove()
        await put_widget(cluster, "a")

        assert (await stays.take(1), before.untaken, after.untaken) == (["add/a"], [], [])


@pytest.mark.scenario("G5", "F29")
@pytest.mark.parametrize("steps", [0, 5, 50])
async def test_a_handler_added_while_the_resource_is_created_is_called(
    cluster: Cluster, client: Client, steps: int
) -> None:
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        await widgets.wait_state(ABSENT)
        await cluster.create_crd()
        await put_widget(cluster, "a")
        for _ in range(steps):
            await trio.lowlevel.checkpoint()

        handle = recorder.attach(widgets)
        widgets.add_index("n", "{.metadata.name}")
        await wait_live(widgets)

        assert await recorder.take(1) == ["add/a"]
        await handle.wait_synced()
        assert len(widgets.by_index("n", "a")) == 1


@pytest.mark.scenario("P4", "G17", "F31")
async def test_a_handler_that_removes_itself_is_not_called_again(cluster: Cluster, client: Client) -> None:
    for name in ("a", "b", "c"):
        await put(cluster, name)
    seen: list[str] = []
    stays = Recorder()

    def once(obj: Unstructured) -> None:
        seen.append(obj.name)
        handle.remove()

    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        handle = configs.add_handler(on_add=once)
        stays.attach(configs)
        await put(cluster, "d")
        await stays.until("add/d")

        assert (len(seen), handle.backlog) == (1, 0)
        with pytest.raises(ClosedError):
            await handle.wait_synced()


@pytest.mark.scenario("G6", "P5")
@pytest.mark.reads_bodies
async def test_a_handler_finds_its_object_in_indexes_during_the_initial_adds(cluster: Cluster, client: Client) -> None:
    await put(cluster, "a", host="x")
    found: list[list[str]] = []
    recorder = Recorder(also=lambda note, obj: found.append(names(configs.by_index("host", obj["data"]["host"]))))
    configs = client.informer(CONFIGS, namespace=cluster.namespace)
    recorder.attach(configs)
    configs.add_index("host", "{.data.host}")
    async with configs:
        await configs.wait_synced()
        await put(cluster, "b", host="x")

        assert await recorder.take(2) == ["add/a", "add/b"]
        assert found == [["a"], ["a", "b"]]


@pytest.mark.scenario("G5")
@pytest.mark.reads_bodies
async def test_an_index_added_between_changes_is_complete_immediately(cluster: Cluster, client: Client) -> None:
    await put(cluster, "a", host="x")
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        await put(cluster, "b", host="x")

        configs.add_index("host", "{.data.host}")

        assert names(configs.by_index("host", "x")) == names(configs.list())
        await recorder.until("add/b")
        assert names(configs.by_index("host", "x")) == ["a", "b"]
        await cluster.delete("configmaps", "a")
        await recorder.until("delete/a")
        assert names(configs.by_index("host", "x")) == ["b"]
