"""Each test runs on the embedded server, and on the server of each ``--cluster NAME=PATH``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import pytest

import dynkube
from dynkube_testing import APIServer
from tests.contract.backends import Backend, open_backend, open_cluster, parse_clusters
from tests.contract.cluster import Cluster
from tests.contract.recorded import ResponseChecker
from tests.contract.webhook_server import Webhooks, open_webhooks


def pytest_configure(config: pytest.Config) -> None:
    """Ignore the warning that a kubeconfig of ``--cluster`` disables TLS verification, as that is its user's choice."""
    config.addinivalue_line("filterwarnings", "ignore::dynkube.config.InsecureTLSWarning")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once for each backend."""
    if "backend" in metafunc.fixturenames:
        clusters = parse_clusters(metafunc.config.getoption("--cluster"))
        runs = [
            # All tests of a real server run in one process: they share the server, and some kill or compact it.
            pytest.param((name, path), id=name, marks=pytest.mark.xdist_group(name) if path is not None else ())
            for name, path in clusters.items()
        ]
        metafunc.parametrize("backend", runs, indirect=True, scope="session")


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    name, path = request.param
    with open_backend(name, path) as backend:
        yield backend


@pytest.fixture(autouse=True)
def _counted(backend: Backend, record_property: Callable[[str, object], None]) -> None:
    record_property("backend", backend.name)


@pytest.fixture
def anyio_backend(backend: Backend) -> tuple[str, dict[str, object]]:
    return backend.anyio_backend


@pytest.fixture
async def server(backend: Backend) -> AsyncIterator[APIServer | None]:
    """The embedded server, for what a test cannot do over HTTP; ``None`` on a real server."""
    async with backend.serve() as server:
        yield server


@pytest.fixture(autouse=True)
def _since(backend: Backend, request: pytest.FixtureRequest) -> None:
    """Skip tests whose ``since`` mark requires a newer server."""
    for marker in request.node.iter_markers("since"):
        minimum, reason = marker.args
        if backend.version < tuple(int(part) for part in minimum.split(".")):
            pytest.skip(f"since {minimum}: {reason}")


@pytest.fixture
async def cluster(backend: Backend, server: APIServer | None) -> AsyncIterator[Cluster]:
    """A cluster with a namespace and an API group for this test only."""
    async with open_cluster(backend, server) as cluster:
        yield cluster


@pytest.fixture
def webhooks(server: APIServer | None) -> Iterator[Webhooks]:
    """Webhooks for this test, which functions play."""
    with open_webhooks(server) as webhooks:
        yield webhooks


@pytest.fixture
def connect(backend: Backend, server: APIServer | None) -> Callable[..., dynkube.Client]:
    """Returns dynkube clients of the same server; see :meth:`Backend.client`."""
    return partial(backend.client, server)


@pytest.fixture
async def client(connect: Callable[..., dynkube.Client]) -> AsyncIterator[dynkube.Client]:
    """A dynkube client of the same server."""
    async with connect() as client:
        yield client


@pytest.fixture
async def compacted(backend: Backend, cluster: Cluster) -> str:
    """A resourceVersion that is compacted: real clusters compact etcd every five minutes.

    Only for custom resources: of resources that a server watches from its start, the watch cache may still have old
    revisions for some seconds.
    """
    if backend.real and backend.plane is None:
        exact = {"resourceVersion": "1", "resourceVersionMatch": "Exact"}
        if (await cluster.call("GET", cluster.path("configmaps"), params=exact)).code != 410:
            pytest.skip("nothing was compacted on that cluster yet")
    return "1"


@pytest.fixture
def checker(cluster: Cluster, backend: Backend, request: pytest.FixtureRequest) -> ResponseChecker:
    """Compares responses with recorded ones, or records them."""
    return ResponseChecker(cluster=cluster, records=backend.real and request.config.getoption("--record"))
