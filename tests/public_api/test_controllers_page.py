"""The programs of docs/controllers.md."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import httpx
import httpx2
import pytest
import trio
from prometheus_client import CollectorRegistry

import dynkube
import dynkube.aio
import dynkube.sync
from dynkube import HashShard, Unstructured
from dynkube.controllers import Context, Controller, ControllerRing, LeaderElection, ObjectKey
from dynkube.controllers import run as run_controllers
from dynkube_testing import APIServer, ServerThread
from tests.aio.kit import in_asyncio
from tests.controllers.kit import quiet, running
from tests.informers.kit import crd
from tests.public_api.documents import fenced_blocks, python_blocks, run
from tests.public_api.test_faults_page import CONFTEST
from tests.public_api.test_testing_page import project  # noqa: F401 - a fixture
from tests.sync.conftest import cluster  # noqa: F401 - a fixture

pytest_plugins = ["pytester"]

PAGE = "docs/controllers.md"
SITE = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"}, "spec": {"replicas": 2}}


class Served(logging.Handler):
    """A log handler that reads the URL of the probes."""

    def __init__(self) -> None:
        super().__init__()
        self.started = trio.Event()
        self.url = ""

    def emit(self, record: logging.LogRecord) -> None:
        if found := re.search(r"served at (\S+)", record.getMessage()):
            self.url = found[1]
            self.started.set()


@pytest.fixture
def served(caplog: pytest.LogCaptureFixture) -> Iterator[Served]:
    caplog.set_level("INFO", "dynkube.controllers")
    handler = Served()
    logger = logging.getLogger("dynkube.controllers")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


async def test_the_controller_of_the_page_creates_a_deployment_and_a_condition(
    server: APIServer, client: dynkube.Client
) -> None:
    scope = await run(python_blocks(PAGE)[0], {"dynkube": dynkube})
    server.create(crd("websites"))
    async with running(client, scope["websites"]):  # type: ignore[arg-type]
        server.create(SITE)
        await quiet(1)

    assert server.get("deployments", "shop")["spec"]["replicas"] == 2
    assert server.get("websites", "shop")["status"]["conditions"][0]["reason"] == "Starting"


LEASES = {1: [], 2: ["websites"], 3: [], 4: ["websites-1"], 5: ["web-7f9c"]}  # by the number of the program on the page


@pytest.mark.parametrize("number", LEASES)
async def test_the_controller_runs_until_it_is_cancelled(
    server: APIServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    connect, blocks = dynkube.connect, python_blocks(PAGE)
    monkeypatch.setattr(dynkube, "connect", lambda: connect(transport=server.transport()))
    monkeypatch.setattr("socket.gethostname", lambda: "web-7f9c")
    monkeypatch.setenv("SHARD", "a")
    monkeypatch.setenv("POD_INDEX", "1")
    names = {**await run(blocks[0], {}), "dynkube": dynkube, "LeaderElection": LeaderElection, "os": os}
    server.create(crd("websites"))
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "system"}})
    for shard, website in enumerate(("a", "b", "c")):
        create_in_part(server, website, HashShard(shard, 3))
    with trio.move_on_after(10):
        await run(f"{blocks[number]}\n{'await main()' if number > 1 else ''}", names)

    found = {deployment["metadata"]["name"] for deployment in server.list("deployments")}
    assert found == {1: {"a", "b", "c"}, 2: {"a", "b", "c"}, 3: {"a"}, 4: {"b"}, 5: {"c"}}[number]
    leases = server.list("leases", namespace="system")
    assert [lease["metadata"]["name"] for lease in leases if not lease["spec"]["holderIdentity"]] == LEASES[number]


def create_in_part(server: APIServer, name: str, shard: HashShard) -> None:
    """Create a website whose UID is in the shard; its shard label is its name, or for c a shard of the ring."""
    labels = {"example.com/shard": name} | ({ControllerRing("websites").shard_label: "web-7f9c"} if name == "c" else {})
    site = {**SITE, "metadata": {"name": name, "labels": labels}}
    while not shard.matches(Unstructured(server.create(site))):
        server.delete("websites", name)


BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "websites"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "websites"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}],
}


@pytest.mark.api_server(rbac=True)
async def test_the_role_of_the_page_is_enough(api_server: APIServer) -> None:
    reconcile = (await run(python_blocks(PAGE)[0], {}))["reconcile"]

    async def reconcile_and_tell(ctx: Context, key: ObjectKey) -> None:
        await reconcile(ctx, key)  # type: ignore[operator]
        ctx.event("Reconciled", "done")

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        await trio.lowlevel.checkpoint()

    websites = Controller(
        "websites.example.com", reconcile_and_tell, owns=["deployments"], finalizer=("example.com/clean", clean_up)
    )
    (role,) = fenced_blocks(PAGE, "yaml", "kind: ClusterRole\n")
    api_server.create(role)
    api_server.create(BINDING)
    async with dynkube.connect(transport=api_server.transport("operator")) as client, trio.open_nursery() as nursery:
        nursery.start_soon(partial(run_controllers, client, websites, election=LeaderElection("websites")))
        await quiet(10)
        definition = crd("websites")
        definition["spec"]["versions"][0]["subresources"] = {"status": {}}
        api_server.create(definition)
        api_server.create(SITE)
        await quiet(10)
        assert api_server.get("deployments", "shop")
        api_server.delete("websites", "shop")
        await quiet(10)
        nursery.cancel_scope.cancel()

    assert not api_server.list("websites")
    assert [request.path for request in api_server.audit if request.status == 403] == []
    assert {"events", "leases"} <= {request.resource.resource for request in api_server.audit if request.resource}


@pytest.mark.real_time
async def test_the_program_for_a_pod_serves_probes_and_ends_by_a_signal(
    server: APIServer, monkeypatch: pytest.MonkeyPatch, served: Served
) -> None:
    connect, registry = dynkube.connect, CollectorRegistry()
    monkeypatch.setattr(dynkube, "connect", lambda **given: connect(transport=server.transport(), **given))
    names = {**await run(python_blocks(PAGE)[0], {}), "dynkube": dynkube, "run": run_controllers, "registry": registry}
    program = python_blocks(PAGE)[6].replace("port=8080", "host='127.0.0.1', port=0")
    program = program.replace("PrometheusMetrics()", "PrometheusMetrics(registry)")
    ready = trio.Event()

    async def main() -> None:
        await run(f"{program}\nawait main()", {**names, "database_is_reachable": ready.set})

    async with trio.open_nursery() as nursery, httpx2.AsyncClient() as http:
        nursery.start_soon(main)
        await served.started.wait()
        assert (await http.get(f"{served.url}/readyz/database")).text == "ok"
        assert "leader_election_master_status" in (await http.get(f"{served.url}/metrics")).text
        signal.raise_signal(signal.SIGTERM)

    assert ready.is_set()


@pytest.mark.real_time
async def test_the_controller_runs_in_the_background_of_a_notebook(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = dynkube.sync.connect
    monkeypatch.setattr(dynkube.sync, "connect", lambda: connect(url=cluster.url))
    names = await run(python_blocks(PAGE)[0], {})

    await trio.to_thread.run_sync(partial(exec, python_blocks(PAGE)[7], names))

    assert repr(names["running"]) == "<ControllerRun of websites.example.com, ended>"


@pytest.mark.real_time
def test_the_test_of_the_page_passes(project: pytest.Pytester) -> None:  # noqa: F811 - a fixture
    project.makeconftest(CONFTEST)
    project.makepyfile(test_block=python_blocks(PAGE)[12])

    project.runpytest_subprocess("-q", "-ra").assert_outcomes(passed=1)
    assert len(python_blocks(PAGE)) == 13


REACHABLE = {**SITE, "spec": {"host": "shop.example.com"}}


async def test_the_daemon_of_the_page_sets_a_condition(server: APIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_reachable(host: str) -> bool:
        await trio.lowlevel.checkpoint()
        return host == "shop.example.com"

    connect = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda: connect(transport=server.transport()))
    server.create(crd("websites"))
    server.create(REACHABLE)
    with trio.move_on_after(40):
        await run(f"{python_blocks(PAGE)[8]}\nawait main()", {"is_reachable": is_reachable})

    assert server.get("websites", "shop")["status"]["conditions"][0]["status"] == "True"


async def probed(client: dynkube.aio.Client) -> None:
    """Wait until the website has a condition."""
    await client.resource("websites.example.com").wait_for("shop", "condition=Reachable")


@pytest.mark.real_time
@in_asyncio
async def test_the_daemon_for_asyncio_sets_a_condition(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_reachable(host: str) -> bool:
        await asyncio.sleep(0)
        return True

    connect = dynkube.aio.connect
    monkeypatch.setattr(dynkube.aio, "connect", lambda: connect(url=cluster.url))
    cluster.create(crd("websites"))
    cluster.create(REACHABLE)
    task = asyncio.create_task(run(f"{python_blocks(PAGE)[9]}\nawait main()", {"is_reachable": is_reachable}))
    async with dynkube.aio.connect() as client:
        await probed(client)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.real_time
def test_the_daemon_in_a_thread_sets_a_condition(
    cluster: ServerThread,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect, runs = dynkube.sync.connect, dynkube.sync.start
    monkeypatch.setattr(dynkube.sync, "connect", lambda: connect(url=cluster.url))
    monkeypatch.setattr(dynkube.sync, "run", runs)
    cluster.create(crd("websites"))
    cluster.create(REACHABLE)
    names: dict[str, object] = {"is_reachable": lambda host: True}
    program = (
        python_blocks(PAGE)[10]
        .replace("wait(30)", "wait(0.01)")
        .replace("dynkube.sync.run(", "started = dynkube.sync.run(")
    )

    exec(program, names)
    with dynkube.sync.connect() as k, names["started"]:  # type: ignore[attr-defined]
        k.resource("websites.example.com").wait_for("shop", "condition=Reachable")


async def test_the_lifespan_of_the_page_is_the_state_of_the_reconciles(
    server: APIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, http = dynkube.connect, httpx.AsyncClient
    monkeypatch.setattr(dynkube, "connect", lambda: connect(transport=server.transport()))
    respond = httpx.MockTransport(lambda request: httpx.Response(418))
    monkeypatch.setattr(httpx, "AsyncClient", lambda: http(transport=respond))
    server.create(crd("websites"))
    server.create({**SITE, "spec": {"url": "http://shop.example.com"}})
    with trio.move_on_after(5):
        await run(f"{python_blocks(PAGE)[11]}\nawait main()", {})

    assert server.get("websites", "shop")["status"] == {"code": 418}
