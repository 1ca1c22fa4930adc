"""Verbs, pages and manifests of the client for asyncio."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

import dynkube
import dynkube.aio
import dynkube.sync
from dynkube.errors import ClosedError, InvalidInput, NotFound
from dynkube.manifests import DiffEntry, Entry
from dynkube_testing import ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio
from tests.sync.kit import CONFIGMAPS, config_map

pytestmark = pytest.mark.real_time


@in_asyncio
async def test_a_verb_returns_the_result_of_that_in_trio(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        created = await client.resource(CONFIGMAPS).create(config_map("one", a="1"))

        assert await client.resource(CONFIGMAPS).get("one", namespace="default") == created
        assert await client.get("cm", "one") == created
        assert await client["cm"].get("one") == created
        assert await client.resources.configmaps.get("one") == created


@in_asyncio
async def test_a_verb_raises_the_error_of_that_in_trio(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        with pytest.raises(NotFound, match='configmaps "none" not found'):
            await client.resource(CONFIGMAPS).get("none")
        with pytest.raises(TypeError, match=r"^get\(\) got an unexpected keyword argument 'labels'"):
            await client.get("pods", labels="app=web")  # type: ignore[call-overload]  # the mistake under test


@in_asyncio
async def test_a_thousand_calls_run_at_the_same_time(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        maps = client.resource(CONFIGMAPS)
        await maps.create(config_map("one"))

        found = await asyncio.gather(*(maps.get("one", timeout=300) for _ in range(1000)))

    assert {obj.name for obj in found} == {"one"}


@in_asyncio
async def test_iterate_returns_the_objects_of_all_pages(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        for name in ("a", "b", "c"):
            cluster.create(config_map(name))

        objects = client.resource(CONFIGMAPS).iterate(page_size=2)

        assert [obj.name async for obj in objects] == ["a", "b", "c"]
        assert objects.resource_version


@in_asyncio
async def test_shortcuts_and_subresources_are_awaited(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        assert await client.auth_can_i("list", "pods")
        assert "pods" in {each.gvr.resource for each in await client.api_resources(verb="list")}
        assert (await client.mapper.resolve("deploy")).gvr.resource == "deployments"
        namespace = await client.resource("namespaces").subresource("status").get("default")

    assert namespace["status"] == {"phase": "Active"}


CURRENT: ContextVar[str] = ContextVar("CURRENT", default="")


@in_asyncio
async def test_functions_in_the_trio_thread_see_the_contextvars_of_the_task(cluster: ServerThread) -> None:
    seen: list[str] = []

    def there(obj: dynkube.Unstructured) -> bool:
        seen.append(CURRENT.get())
        return True

    async with dynkube.aio.connect(url=cluster.url) as client:
        CURRENT.set("this task")
        await client.resource("namespaces").wait_for("default", there)

    assert seen == ["this task"]


# ── manifests ────────────────────────────────────────────────────────────────────────────────


@in_asyncio
async def test_apply_all_is_awaited_or_iterated_over(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        report = await client.apply_all([config_map("one"), config_map("two")])
        async with client.apply_all([config_map("one"), config_map("three")]) as run:
            entries = [entry.name.partition("/")[2] async for entry in run]

    assert report.summary.startswith("2 created")
    assert (sorted(entries), run.report.summary, run.total) == (["one", "three"], "1 created, 1 unchanged", 2)
    with pytest.raises(ClosedError, match="started before"):
        await run


@in_asyncio
async def test_callbacks_of_entries_are_called_in_the_event_loop(cluster: ServerThread) -> None:
    called: list[tuple[str, threading.Thread]] = []

    def on_entry(entry: Any) -> None:
        called.append((entry.object.name, threading.current_thread()))

    async with dynkube.aio.connect(url=cluster.url) as client:
        await client.diff_all(config_map("one"), on_entry=on_entry)
        await client.apply_all(config_map("one"), on_entry=on_entry)
        async with client.apply_all(config_map("one"), on_entry=on_entry) as run:
            await anext(run)

    assert called == [("one", threading.main_thread())] * 3


@in_asyncio
async def test_a_callback_that_raises_ends_the_run(cluster: ServerThread) -> None:
    def on_entry(entry: Entry | DiffEntry) -> None:
        raise LookupError(str(entry.object))

    async with dynkube.aio.connect(url=cluster.url) as client:
        with pytest.raises(LookupError, match="one"):
            await client.apply_all(config_map("one"), on_entry=on_entry)
        with pytest.raises(LookupError, match="one"):
            await client.diff_all(config_map("one", a="b"), on_entry=on_entry)


@in_asyncio
async def test_a_callback_that_raises_does_not_undo_the_cancellation_of_its_task(
    cluster: ServerThread, caplog: pytest.LogCaptureFixture
) -> None:
    def on_entry(entry: DiffEntry) -> None:
        task.cancel()
        raise LookupError("one")

    async with dynkube.aio.connect(url=cluster.url) as client:
        task = asyncio.create_task(client.diff_all(config_map("one"), on_entry=on_entry))
        with pytest.raises(asyncio.CancelledError):
            await task

    assert "LookupError: one" in caplog.text


@in_asyncio
async def test_the_error_of_a_source_is_raised_and_not_logged(
    cluster: ServerThread, caplog: pytest.LogCaptureFixture
) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        with pytest.raises(InvalidInput, match="source has no objects"):
            await client.apply_all([], prune="shop")
        with pytest.raises(InvalidInput, match="source has no objects"):  # raised by the last step
            async with client.apply_all([], prune="shop") as run:
                [_ async for _ in run]

    assert caplog.text == ""


# ── clients that are not open ────────────────────────────────────────────────────────────────


@in_asyncio
async def test_a_client_that_was_not_entered_names_the_way(cluster: ServerThread) -> None:
    client = dynkube.aio.connect(url=cluster.url)

    assert repr(client) == "<Client, not open>"
    with pytest.raises(ClosedError, match=r"use it inside 'async with dynkube\.aio\.connect"):
        _ = client.namespace
    with pytest.raises(ClosedError, match=r"dynkube\.aio\.connect"):
        await client.get("pods")


@in_asyncio
async def test_a_closed_client_raises_with_a_hint(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        maps = client.resource(CONFIGMAPS)

    assert (repr(client), client._ipython_key_completions_()) == ("<Client, closed>", [])
    with pytest.raises(ClosedError, match=r"dynkube\.aio\.connect"):
        _ = client.namespace
    with pytest.raises(ClosedError, match="client is closed"):
        await maps.list()
    with pytest.raises(ClosedError, match="entered before"):
        await client.__aenter__()


@in_asyncio
async def test_the_trio_client_names_the_one_for_asyncio() -> None:
    with pytest.raises(InvalidInput, match=r"the event loop is asyncio's: use dynkube\.aio\.connect\(\)"):
        await dynkube.connect(url="http://127.0.0.1:9").__aenter__()


async def test_in_trio_it_names_the_client_for_trio(cluster: ServerThread) -> None:
    client = dynkube.aio.connect(url=cluster.url)

    with pytest.raises(InvalidInput, match=r"this is a trio task: use dynkube\.connect\(\)"):
        await client.__aenter__()
    with pytest.raises(InvalidInput, match="this is a trio task"):
        await client.get("pods")


def test_without_an_event_loop_it_names_the_blocking_client(cluster: ServerThread) -> None:
    coroutine = dynkube.aio.connect(url=cluster.url).__aenter__()

    with pytest.raises(InvalidInput, match=r"no asyncio event loop is running.*dynkube\.sync\.connect"):
        coroutine.send(None)


@in_asyncio
async def test_clients_of_both_apis_and_of_several_clusters_share_one_thread(cluster: ServerThread) -> None:
    with serve_in_thread() as other, dynkube.sync.connect(url=cluster.url) as k:
        async with dynkube.aio.connect(url=cluster.url) as first, dynkube.aio.connect(url=other.url) as second:
            await second.resource(CONFIGMAPS).create(config_map("theirs"))
            sizes = [len(await each.resource(CONFIGMAPS).list(namespace="default")) for each in (first, second)]

            assert (sizes, first._thread) == ([0, 1], k._thread)
