"""The examples of docs/asyncio.md, on an embedded server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import kopf
import pytest

import dynkube
import dynkube.aio
from dynkube_testing import ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio
from tests.informers.kit import crd
from tests.public_api.documents import python_blocks, run
from tests.public_api.test_documents import MANIFEST, pod

pytestmark = pytest.mark.real_time

FIRST, CONTROLLER, SERVICE, KOPF, JUPYTER = python_blocks("docs/asyncio.md")


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerThread]:
    """A cluster with a Deployment and a Pod, to which ``connect()`` connects."""
    connect = dynkube.aio.connect
    with serve_in_thread() as cluster:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        metadata = {**MANIFEST["metadata"], "labels": {"app": "web"}}
        cluster.create({**MANIFEST, "metadata": metadata, "spec": {**MANIFEST["spec"], "replicas": 1}})
        cluster.create(pod("web-1"))
        monkeypatch.setattr(dynkube.aio, "connect", lambda: connect(url=cluster.url))
        yield cluster


@in_asyncio
async def test_the_first_example_prints_objects_and_events(capsys: pytest.CaptureFixture[str]) -> None:
    await run(FIRST, {})

    assert capsys.readouterr().out.splitlines()[:3] == ["web", "1 pods", "here comes web-1"]


@in_asyncio
async def test_the_controller_runs_until_its_task_is_cancelled(cluster: ServerThread) -> None:
    task = asyncio.create_task(run(CONTROLLER, {}))
    async with dynkube.aio.connect() as client:
        await client.resource("configmaps").wait_for("web", "create", namespace="shop")
    signal.raise_signal(signal.SIGTERM)
    await task

    assert cluster.get("configmaps", "web", "shop")["metadata"]["labels"] == {"app": "web"}


@in_asyncio
async def test_the_service_serves_from_its_informer_and_scales(cluster: ServerThread) -> None:
    app: Any = (await run(SERVICE, {}))["app"]

    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as http,
    ):
        ready = await http.get("/ready")
        before = cluster.requests
        found = [(await http.get("/apps/web")).json(), (await http.get("/apps/none")).json()]
        after = cluster.requests
        scaled = await http.post("/scale/shop/web/3")
        shown = (await http.get("/apps/web")).json()

    assert (ready.status_code, ready.json()) == (200, {"state": "LIVE (Watching)"})
    assert (found, len(after)) == ([[{"name": "web", "replicas": 1}], []], len(before))
    assert [scaled.json()] == shown == [{"name": "web", "replicas": 3}]


@in_asyncio
async def test_a_kopf_operator_reads_from_an_informer() -> None:
    functions = await run(KOPF, {})
    memo: Any = kopf.Memo()

    await asyncio.create_task(functions["start"](memo=memo))  # type: ignore[operator]  # each in a task of its own
    counted = await asyncio.create_task(functions["count_routes"](namespace="shop", memo=memo))  # type: ignore[operator]
    await asyncio.create_task(functions["stop"](memo=memo))  # type: ignore[operator]

    assert counted == {"routes": 0}


@in_asyncio
async def test_an_exit_stack_keeps_a_client_open_across_cells(cluster: ServerThread) -> None:
    cluster.create(crd())
    scope = await run(JUPYTER, {})

    assert repr(scope["client"]) == "<Client, closed>"
