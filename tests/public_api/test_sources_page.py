"""The programs of docs/sources-and-clusters.md."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest
import trio

import dynkube
import dynkube.aio
import dynkube.sync
from dynkube_testing import APIServer, ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio
from tests.controllers.kit import quiet
from tests.informers.kit import pod
from tests.public_api.documents import python_blocks, run
from tests.sync.conftest import cluster  # noqa: F401 - a fixture

STREAM, IN_ASYNCIO, BLOCKING, OTHER, *CLUSTERS = python_blocks("docs/sources-and-clusters.md")
COLLECT, CLUSTERS_IN_ASYNCIO, CLUSTERS_BLOCKING, HUB, EVENTS, EVENTS_IN_ASYNCIO, EVENTS_BLOCKING = CLUSTERS


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "dynkube.controllers")
    return caplog


class Logged(logging.Handler):
    """A log handler that waits in another thread for a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.found = threading.Event()
        logging.getLogger("dynkube.controllers").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self.found.set()
            logging.getLogger("dynkube.controllers").removeHandler(self)


def connecting(monkeypatch: pytest.MonkeyPatch, *servers: APIServer) -> None:
    """Have each call of ``connect()`` connect to the next of these servers."""
    connect, others = dynkube.connect, iter(servers)
    monkeypatch.setattr(dynkube, "connect", lambda **given: connect(transport=next(others).transport()))


async def test_the_keys_of_a_timer_and_added_ones_are_reconciled(
    server: APIServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connecting(monkeypatch, server)
    scope: dict[str, Any] = await run(STREAM, {})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scope["main"])
        await quiet(10)
        assert scope["pushed"].add(("default", "books"))
        await quiet(60)
        nursery.cancel_scope.cancel()

    messages = [record.getMessage() for record in caplog.records if "exist" in record.message]
    assert sorted(messages) == ["configmaps default/books: does not exist"] + 2 * [
        "configmaps default/shop: does not exist"
    ]


@pytest.mark.real_time
@in_asyncio
async def test_the_keys_of_a_queue_of_asyncio_are_reconciled(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.aio.connect
    monkeypatch.setattr(dynkube.aio, "connect", lambda: connect(url=cluster.url))
    scope: dict[str, Any] = await run(IN_ASYNCIO, {})
    reconciled = Logged("default/shop: does not exist")
    task = asyncio.create_task(scope["main"]())
    assert await asyncio.to_thread(reconciled.found.wait, 30)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()


@pytest.mark.real_time
def test_the_keys_of_a_blocking_queue_are_reconciled(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.sync.connect
    client = connect(url=cluster.url)
    monkeypatch.setattr(dynkube.sync, "connect", lambda: client)
    scope: dict[str, Any] = {}
    exec(BLOCKING, scope)
    reconciled = Logged("default/shop: does not exist")
    program = threading.Thread(target=scope["main"])
    program.start()
    scope["orders"].put(("default", "shop"))
    assert reconciled.found.wait(30)
    client.close()
    program.join(30)

    assert not program.is_alive()


async def test_changes_in_another_cluster_are_reconciled(
    server: APIServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with APIServer() as other:
        connecting(monkeypatch, server, *[other] * 10)
        scope: dict[str, Any] = await run(OTHER, {})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scope["main"])
            await quiet(1)
            labels = {"shop": "books"}
            other.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}})
            await quiet(10)
            nursery.cancel_scope.cancel()

    assert "the settings of default/books have changed" in caplog.text


# ── several clusters ─────────────────────────────────────────────────────────────────────────


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "b"}}


async def test_settings_of_other_clusters_are_collected_in_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    async with APIServer() as hub, APIServer() as east:
        connecting(monkeypatch, hub, east)
        scope: dict[str, Any] = await run(COLLECT, {})
        for server in (hub, east):
            server.create(config("shop", collect="yes"))
        with trio.move_on_after(10):
            await scope["main"]()

        assert {each["metadata"]["name"] for each in hub.list("configmaps")} == {"shop", "shop-east"}
        assert [lease["metadata"]["name"] for lease in hub.list("leases")] == ["collect"]


async def test_pods_of_all_clusters_are_counted_in_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    async with APIServer() as hub, APIServer() as east:
        connecting(monkeypatch, hub, east)
        scope: dict[str, Any] = await run(HUB, {})
        hub.create(config("web"))
        for server in (hub, east):
            server.create({**pod("web-1"), "metadata": {"name": "web-1", "labels": {"app": "web"}}})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scope["main"])
            await quiet(5)
            assert hub.get("configmaps", "web")["data"]["pods"] == "2"
            east.delete("pods", "web-1")
            await quiet(5)
            nursery.cancel_scope.cancel()

        assert hub.get("configmaps", "web")["data"]["pods"] == "1"


@pytest.mark.real_time
@in_asyncio
async def test_controllers_run_on_the_clusters_of_the_api_for_asyncio(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.aio.connect
    with serve_in_thread() as other:
        urls = {"east": cluster.url, "west": other.url}
        other.create(config("a"))
        monkeypatch.setattr(dynkube.aio, "connect", lambda context: connect(url=urls[context]))
        scope: dict[str, Any] = await run(CLUSTERS_IN_ASYNCIO, {})
        reconciled = Logged("in west default/a: 2 of 2 clusters")
        task = asyncio.create_task(scope["main"]())
        assert await asyncio.to_thread(reconciled.found.wait, 30)
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.real_time
def test_controllers_run_on_the_clusters_of_the_blocking_api(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.sync.connect
    with serve_in_thread() as other:
        clients = {"east": connect(url=cluster.url), "west": connect(url=other.url)}
        other.create(config("a"))
        monkeypatch.setattr(dynkube.sync, "connect", lambda context: clients[context])
        scope: dict[str, Any] = {}
        exec(CLUSTERS_BLOCKING, scope)
        reconciled = Logged("in west default/a: 4 namespaces")
        program = threading.Thread(target=scope["main"])
        program.start()
        assert reconciled.found.wait(30)
        clients["west"].close()
        program.join(30)

    assert not program.is_alive()


# ── Events ───────────────────────────────────────────────────────────────────────────────────


def events_in(server: APIServer | ServerThread) -> list[tuple[str, str]]:
    """Return reason and type of the Events in a cluster."""
    return sorted((each["reason"], each["type"]) for each in server.list("events.v1.events.k8s.io"))


async def test_events_are_written_without_a_controller(server: APIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    connecting(monkeypatch, server)
    server.create(config("shop"))
    scope: dict[str, Any] = await run(EVENTS, {})
    await scope["main"]()

    assert events_in(server) == [("BackedUp", "Normal"), ("QuotaNearlyUsed", "Warning")]


@pytest.mark.real_time
@in_asyncio
async def test_events_are_written_on_asyncio(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.aio.connect
    monkeypatch.setattr(dynkube.aio, "connect", lambda: connect(url=cluster.url))
    cluster.create(config("shop"))
    scope: dict[str, Any] = await run(EVENTS_IN_ASYNCIO, {})
    await scope["main"]()

    assert events_in(cluster) == [("BackedUp", "Normal")]


@pytest.mark.real_time
def test_events_are_written_by_blocking_code(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.sync.connect
    monkeypatch.setattr(dynkube.sync, "connect", lambda: connect(url=cluster.url))
    cluster.create(config("shop"))
    scope: dict[str, Any] = {}
    exec(EVENTS_BLOCKING, scope)
    scope["main"]()

    assert events_in(cluster) == [("BackedUp", "Normal")]
