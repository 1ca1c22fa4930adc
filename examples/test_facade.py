"""Tests of facade.py, without a cluster and in virtual time. Run them by ``python -m pytest examples``."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from starlette.applications import Starlette
from starlette.types import Message, Scope

import dynkube
from dynkube_testing import APIServer
from examples import facade

pytestmark = pytest.mark.anyio
CONFIGS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def anyio_backend(virtual_time_backend: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return virtual_time_backend


@pytest.fixture
async def app(api_server: APIServer) -> AsyncIterator[Starlette]:
    app = facade.create_app(lambda: dynkube.connect(transport=api_server.transport()))
    async with app.router.lifespan_context(app):
        yield app


@pytest.fixture
async def http(app: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app) as client:
        yield client


def client_of(app: Starlette) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://facade")


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


def names(response: httpx2.Response) -> list[str]:
    return sorted(item["metadata"]["name"] for item in response.json()["items"])


# ── reads ────────────────────────────────────────────────────────────────────────────────────


async def test_lists_and_objects_have_the_paths_of_the_kubernetes_api(
    api_server: APIServer, http: httpx2.AsyncClient
) -> None:
    api_server.create(config("a", app="web"))
    api_server.create(config("b"))

    assert names(await http.get(CONFIGS)) == ["a", "b"]
    assert names(await http.get("/api/v1/configmaps?labelSelector=app%3Dweb")) == ["a"]
    assert names(await http.get("/api/v1/namespaces/other/configmaps")) == []
    assert (await http.get(f"{CONFIGS}/a")).json()["kind"] == "ConfigMap"
    assert (await http.get("/api/v1/configmaps/a")).status_code == 404
    assert (await http.get("/api/v1/namespaces/default")).json()["kind"] == "Namespace"
    assert (await http.get("/apis/apps/v1/deployments")).json()["items"] == []


async def test_what_has_not_changed_is_304(api_server: APIServer, http: httpx2.AsyncClient) -> None:
    api_server.create(config("a"))
    for path in (CONFIGS, f"{CONFIGS}/a"):
        etag = (await http.get(path)).headers["ETag"]
        assert (await http.get(path, headers={"If-None-Match": etag})).status_code == 304

        api_server.apply({**config("a"), "data": {"changed": path}})
        await trio.sleep(1)
        changed = await http.get(path, headers={"If-None-Match": f'"other", {etag}'})
        assert (changed.status_code, changed.headers["ETag"] == etag) == (200, False)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{CONFIGS}/missing", 404),
        ("/apis/example.com/v1/widgets", 404),
        ("/apis/not a group/v1/widgets", 400),
        ("/api/v1/secrets", 403),
        (f"{CONFIGS}?labelSelector=a%3D%3D%3D", 400),
        (f"{CONFIGS}?fieldSelector=metadata.name%3Da", 400),
        ("/nothing", 404),
    ],
)
async def test_failures_are_a_status_as_the_api_server_sends(http: httpx2.AsyncClient, path: str, code: int) -> None:
    response = await http.get(path)

    assert (response.status_code, response.json()["kind"], response.json()["code"]) == (code, "Status", code)


async def test_reads_send_nothing_and_go_on_while_the_api_server_is_down(
    api_server: APIServer, http: httpx2.AsyncClient
) -> None:
    api_server.create(config("a"))
    assert (await http.get(CONFIGS)).headers["X-Cache-State"] == "LIVE"
    api_server.forget_requests()
    with api_server.refuse_connections():
        api_server.drop_connections()
        await trio.sleep(100)
        response = await http.get(CONFIGS)
        assert (names(response), response.headers["X-Cache-State"]) == (["a"], "DEGRADED")
        assert int(response.headers["Age"]) == 100
    await trio.sleep(120)
    assert (await http.get(CONFIGS)).headers["X-Cache-State"] == "LIVE"
    assert {request.verb for request in api_server.audit} <= {"watch"}


async def test_a_resource_that_was_never_listed_is_unavailable(api_server: APIServer, http: httpx2.AsyncClient) -> None:
    with api_server.fail(status=403, resource="configmaps"):
        response = await http.get(CONFIGS)
        assert (response.status_code, response.headers["X-Cache-State"]) == (503, "DEGRADED")
        assert "Forbidden" in response.json()["message"]


async def test_a_custom_resource_is_served_as_soon_as_it_is_installed(
    api_server: APIServer, http: httpx2.AsyncClient
) -> None:
    assert (await http.get("/apis/example.com/v1/websites")).status_code == 404
    api_server.load(Path(__file__).with_name("websites.yaml"))
    await trio.sleep(1)
    assert (await http.get("/apis/example.com/v1/websites")).status_code == 200


# ── what is open ─────────────────────────────────────────────────────────────────────────────


async def test_an_unused_informer_is_closed(api_server: APIServer, http: httpx2.AsyncClient) -> None:
    def watched() -> set[str]:
        return {watch.resource.resource for watch in api_server.open_watches}

    await http.get(CONFIGS)
    await trio.sleep(facade.IDLE - 10)
    await http.get(CONFIGS)
    await trio.sleep(facade.IDLE - 10)
    assert "configmaps" in watched()
    await trio.sleep(20)
    assert "configmaps" not in watched()


async def test_no_more_informers_are_opened_than_allowed(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facade, "INFORMERS", 1)
    assert (await http.get(CONFIGS)).status_code == 200
    refused = await http.get("/api/v1/pods")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
    await trio.sleep(facade.IDLE + 10)
    assert (await http.get("/api/v1/pods")).status_code == 200


async def test_it_is_ready_when_the_api_server_was_reached(api_server: APIServer, http: httpx2.AsyncClient) -> None:
    await trio.sleep(1)
    with api_server.refuse_connections():
        assert (await http.get("/readyz")).status_code == 200
        assert (await http.get("/healthz")).text == "ok"

        away = facade.create_app(lambda: dynkube.connect(transport=api_server.transport()))
        async with away.router.lifespan_context(away), client_of(away) as other:
            assert (await other.get("/readyz")).status_code == 503


# ── streams ──────────────────────────────────────────────────────────────────────────────────


class Stream:
    """A client of a stream, as the ASGI application sees it; it reads while ``reads`` is set."""

    def __init__(self, app: Starlette, path: str, query: str) -> None:
        self._app = app
        self._scope: Scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
        self.status = 0
        self.lines: list[tuple[str, str]] = []
        self.reads, self.left, self.ended = trio.Event(), trio.Event(), trio.Event()

    async def run(self) -> None:
        await self._app({**self._scope, "headers": []}, self._receive, self._send)
        self.ended.set()

    async def _receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        self.status = message.get("status", self.status)
        lines = message.get("body", b"").splitlines() if self.status == 200 else ()
        for event in map(json.loads, lines):
            self.lines.append((event["type"], event["object"]["metadata"]["name"]))


@pytest.fixture
async def stream(app: Starlette, api_server: APIServer) -> AsyncIterator[Stream]:
    """A client that watches the ConfigMaps of one app in ``default``; ``a`` is one."""
    api_server.create(config("a", app="web"))
    stream = Stream(app, CONFIGS, "watch=1&labelSelector=app%3Dweb")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        yield stream
        nursery.cancel_scope.cancel()


async def test_a_stream_has_the_objects_and_then_the_changes(api_server: APIServer, stream: Stream) -> None:
    stream.reads.set()
    await trio.sleep(1)
    elsewhere = config("c", app="web")
    api_server.create({**elsewhere, "metadata": {**elsewhere["metadata"], "namespace": "kube-system"}})
    api_server.create(config("b"))
    api_server.apply({**config("a", app="web"), "data": {"changed": "yes"}})
    await trio.sleep(1)
    api_server.apply(config("b", app="web"))
    api_server.delete("configmaps", "a")
    await trio.sleep(1)

    assert stream.status == 200
    assert stream.lines[:2] == [("ADDED", "a"), ("MODIFIED", "a")]
    assert sorted(stream.lines[2:]) == [("ADDED", "b"), ("DELETED", "a")]


async def test_a_client_that_disconnects_ends_its_stream(app: Starlette, stream: Stream) -> None:
    stream.reads.set()
    await trio.sleep(1)
    stream.left.set()
    with trio.fail_after(1):
        await stream.ended.wait()
    assert app.state.facade.streams.value == facade.STREAMS


async def test_a_slow_client_is_disconnected(
    api_server: APIServer, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facade, "QUEUE", 2)
    await trio.sleep(1)
    for number in range(10):
        api_server.create(config(f"c{number}", app="web"))
    await trio.sleep(facade.SLOW - 1)
    assert not stream.ended.is_set()
    await trio.sleep(2)
    assert stream.ended.is_set()


@pytest.mark.usefixtures("stream")
async def test_no_more_streams_are_opened_than_allowed(app: Starlette, http: httpx2.AsyncClient) -> None:
    await trio.sleep(1)
    for _ in range(facade.STREAMS - 1):
        app.state.facade.streams.acquire_nowait()

    assert (await http.get("/api/v1/configmaps?watch=1")).status_code == 503
