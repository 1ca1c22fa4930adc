"""Tests of aio_service.py, on asyncio and an embedded server. Run them by ``python -m pytest examples``."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

import dynkube.aio
from dynkube_testing import Refuse, ServerThread, serve_in_thread
from examples import aio_service

pytestmark = [pytest.mark.anyio, pytest.mark.real_time]
WEB = "/settings/shop/web"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    """A cluster with the settings of two apps, one of which has a team."""
    with serve_in_thread() as cluster:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        cluster.create(settings("web", team="red"))
        cluster.create(settings("api"))
        yield cluster


@pytest.fixture
async def app(cluster: ServerThread) -> AsyncIterator[Starlette]:
    app = aio_service.create_app(lambda: dynkube.aio.connect(url=cluster.url))
    async with app.router.lifespan_context(app):
        await app.state.configs.wait_synced()
        yield app


@pytest.fixture
async def http(app: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://service") as client:
        yield client


def settings(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"colour": "blue"}}


def names(response: httpx2.Response) -> list[str]:
    return sorted(item["metadata"]["name"] for item in response.json()["items"])


async def test_reads_come_from_the_cache(cluster: ServerThread, http: httpx2.AsyncClient) -> None:
    before = len(cluster.requests)
    assert names(await http.get("/settings/shop")) == ["api", "web"]
    assert names(await http.get("/settings/shop?team=red")) == ["web"]
    assert names(await http.get("/settings/other")) == []
    found = await http.get(WEB)

    assert (found.json()["data"], found.headers["X-Cache-State"]) == ({"colour": "blue"}, "LIVE")
    assert (await http.get("/settings/shop/none")).json() == {"error": "no such settings"}
    assert (await http.get("/ready")).json() == {"state": "LIVE (Watching)"}
    assert len(cluster.requests) == before


async def test_a_thousand_requests_at_once_are_answered(cluster: ServerThread, http: httpx2.AsyncClient) -> None:
    before = len(cluster.requests)
    found = await asyncio.gather(*(http.get(WEB) for _ in range(1000)))

    assert {response.status_code for response in found} == {200}
    assert len(cluster.requests) == before


async def test_a_read_after_a_write_shows_it(http: httpx2.AsyncClient) -> None:
    for colour in ("red", "green"):
        changed = await http.patch(WEB, json={"colour": colour})
        assert (changed.status_code, changed.json()["data"]) == (200, {"colour": colour})
        assert (await http.get(WEB)).json()["data"] == {"colour": colour}


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/settings/shop/none", '{"a": "b"}', 404),
        (WEB, '{"a": 1}', 400),
        (WEB, "[]", 400),
        (WEB, "{", 400),
        (WEB, '{"not a key": "b"}', 422),
        (WEB, " " * (aio_service.BODY + 1), 413),
    ],
)
async def test_bad_writes_are_rejected(http: httpx2.AsyncClient, path: str, body: str, code: int) -> None:
    response = await http.patch(path, content=body)

    assert (response.status_code, "error" in response.json()) == (code, True)


async def test_a_write_that_the_api_server_does_not_take_is_503(
    cluster: ServerThread, http: httpx2.AsyncClient
) -> None:
    cluster.run(cluster.server.inject, Refuse(500), verb="patch")
    response = await http.patch(WEB, json={"colour": "red"})

    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert (await http.get(WEB)).json()["data"] == {"colour": "blue"}


async def test_settings_that_were_never_listed_are_unavailable(cluster: ServerThread) -> None:
    cluster.run(cluster.server.inject, Refuse(403), resource="configmaps")
    app = aio_service.create_app(lambda: dynkube.aio.connect(url=cluster.url))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://service") as http,
    ):
        await app.state.configs.wait_state(dynkube.DEGRADED)
        codes = [(await http.get(path)).status_code for path in (WEB, "/settings/shop", "/ready")]

    assert codes == [503] * 3
