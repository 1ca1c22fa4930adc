"""A real control plane: its servers end and start again on the same data, and etcd is compacted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trio

import dynkube
from dynkube.errors import ControlPlaneError, Gone
from dynkube_testing import ControlPlane, ServerProcess

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "kept-"}}

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[dynkube.Client]:
    for server in (plane.etcd, plane.api_server):
        await trio.to_thread.run_sync(server.start)
    await trio.to_thread.run_sync(plane.api_server.wait_ready)
    async with dynkube.connect(kubeconfig=plane.kubeconfig()) as client:
        yield client


async def test_a_new_control_plane_has_the_namespaces_of_a_cluster(client: dynkube.Client, plane: ControlPlane) -> None:
    namespaces = await client.resource("namespaces").list()

    assert {"default", "kube-system"} <= {namespace.name for namespace in namespaces}
    assert (await client.server_version()).git_version == plane.version


@pytest.mark.parametrize("which", ["api_server", "etcd"])
@pytest.mark.parametrize("end", [ServerProcess.kill, ServerProcess.stop])
async def test_a_server_that_ended_starts_again_on_the_same_data(
    client: dynkube.Client, plane: ControlPlane, which: str, end: Callable[[ServerProcess], None]
) -> None:
    server: ServerProcess = getattr(plane, which)
    created = await client.resource("configmaps").create(CONFIG)

    await trio.to_thread.run_sync(end, server)
    assert (server.running, server.pid) == (False, None)
    await trio.to_thread.run_sync(server.start)
    await trio.to_thread.run_sync(plane.api_server.wait_ready)

    found = await client.resource("configmaps").get(created.name)
    assert found.uid == created.uid


async def test_a_paused_api_server_responds_after_it_is_resumed(client: dynkube.Client, plane: ControlPlane) -> None:
    configs = client.resource("configmaps")
    await configs.list()  # opens a connection

    plane.api_server.pause()
    with trio.move_on_after(0.5) as silence:
        await configs.list()
    plane.api_server.resume()

    assert silence.cancelled_caught
    await configs.list()


async def test_after_a_compaction_a_new_api_server_does_not_serve_older_revisions(
    client: dynkube.Client, plane: ControlPlane
) -> None:
    configs = client.resource("configmaps")
    old = await configs.create(CONFIG)
    new = await configs.create(CONFIG)

    revision = await trio.to_thread.run_sync(plane.compact)
    assert revision >= int(new.resource_version)
    await trio.to_thread.run_sync(plane.api_server.restart)

    with pytest.raises(Gone):
        await configs.list(resource_version=old.resource_version, resource_version_match="Exact")


def test_compacting_twice_is_allowed_and_compacting_without_etcd_raises(plane: ControlPlane) -> None:
    plane.etcd.start()
    assert plane.compact() <= plane.compact()

    plane.etcd.kill()
    with pytest.raises(ControlPlaneError, match="etcd does not respond, so it cannot be compacted"):
        plane.compact()


async def test_objects_in_a_folder_are_served_by_the_next_control_plane(assets: Path, tmp_path: Path) -> None:
    async with ControlPlane(assets, folder=tmp_path) as first, dynkube.connect(kubeconfig=first.kubeconfig()) as client:
        created = await client.resource("configmaps").create(CONFIG)

    async with (
        ControlPlane(assets, folder=tmp_path) as second,
        dynkube.connect(kubeconfig=second.kubeconfig()) as client,
    ):
        assert await client.resource("configmaps").get(created.name)
