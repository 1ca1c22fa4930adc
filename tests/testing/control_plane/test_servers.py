"""The servers of a real control plane: killed, stopped, paused and started again on the same data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
import trio

import dynkube
from dynkube.testing import ControlPlane, ServerProcess

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "kept-"}}

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[dynkube.Client]:
    for server in (plane.etcd, plane.api_server):
        await trio.to_thread.run_sync(server.start)
    async with dynkube.connect(kubeconfig=plane.kubeconfig()) as client:
        yield client


async def test_a_new_control_plane_has_the_namespaces_of_a_cluster(client: dynkube.Client, plane: ControlPlane) -> None:
    namespaces = await client.resource("namespaces").list()

    assert {"default", "kube-system"} <= {namespace.name for namespace in namespaces}
    assert plane.version.startswith("v1.")


@pytest.mark.parametrize("which", ["api_server", "etcd"])
@pytest.mark.parametrize("end", [ServerProcess.kill, ServerProcess.stop])
async def test_a_server_that_ended_starts_again_on_the_same_data(
    client: dynkube.Client, plane: ControlPlane, which: str, end: Callable[[ServerProcess], None]
) -> None:
    server: ServerProcess = getattr(plane, which)
    kept = await client.resource("configmaps").create(CONFIG)

    await trio.to_thread.run_sync(end, server)
    assert (server.running, server.pid) == (False, None)
    await trio.to_thread.run_sync(server.start)
    await trio.to_thread.run_sync(plane.api_server.wait_ready)

    found = await client.resource("configmaps").get(kept.name)
    assert found.uid == kept.uid
