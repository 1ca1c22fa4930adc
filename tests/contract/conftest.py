"""What a cluster decides: each test runs on the embedded server, and on each that ``--cluster NAME=PATH`` names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import pytest

import dynkube
from dynkube.testing import APIServer
from tests.contract.backends import Backend, open_backend, open_cluster, parse_clusters
from tests.contract.cluster import Cluster
from tests.contract.recorded import Judge


def pytest_configure(config: pytest.Config) -> None:
    """Whoever names a cluster whose certificate is not checked has chosen so."""
    config.addinivalue_line("filterwarnings", "ignore::dynkube.config.InsecureTLSWarning")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of the test for each backend."""
    if "backend" in metafunc.fixturenames:
        clusters = parse_clusters(metafunc.config.getoption("--cluster"))
        runs = [
            # One process for all tests of a real server, which is started once, killed, and compacted.
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
    """The embedded server of the test; ``None`` on a real one. For what a test cannot do over HTTP."""
    async with backend.serve() as server:
        yield server


@pytest.fixture(autouse=True)
def _since(backend: Backend, request: pytest.FixtureRequest) -> None:
    """Skip what the server is too old for."""
    for marker in request.node.iter_markers("since"):
        minimum, reason = marker.args
        if backend.version < tuple(int(part) for part in minimum.split(".")):
            pytest.skip(f"since {minimum}: {reason}")


@pytest.fixture
async def cluster(backend: Backend, server: APIServer | None) -> AsyncIterator[Cluster]:
    """A cluster with a namespace for this test alone."""
    async with open_cluster(backend, server) as cluster:
        yield cluster


@pytest.fixture
def connect(backend: Backend, server: APIServer | None) -> Callable[..., dynkube.Client]:
    """Makes clients of ours, of the same server; see :meth:`Backend.client`."""
    return partial(backend.client, server)


@pytest.fixture
async def client(connect: Callable[..., dynkube.Client]) -> AsyncIterator[dynkube.Client]:
    """A client of ours, of the same server."""
    async with connect() as client:
        yield client


@pytest.fixture
async def compacted(backend: Backend, cluster: Cluster) -> str:
    """A revision that history has lost: the store was compacted since, as clusters do every five minutes.

    For custom resources only. What a server has watched from its start on, its caches may remember for some seconds.
    """
    if backend.real and backend.plane is None:
        exact = {"resourceVersion": "1", "resourceVersionMatch": "Exact"}
        if (await cluster.call("GET", cluster.path("configmaps"), params=exact)).code != 410:
            pytest.skip("nothing was compacted on that cluster yet")
    return "1"


@pytest.fixture
def judge(cluster: Cluster, backend: Backend, request: pytest.FixtureRequest) -> Judge:
    """What holds answers to tables of recorded ones."""
    return Judge(cluster=cluster, records=backend.real and request.config.getoption("--record"))
