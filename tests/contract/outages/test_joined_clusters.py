"""Two control planes as one reader while one of them is killed and started again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
import trio

import dynkube
from dynkube import DEGRADED, LIVE, Client, Informer, Join
from dynkube_testing import ControlPlane
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP

pytestmark = pytest.mark.timeout(240)

CONFIGS = "configmaps.v1"
SETTINGS = dynkube.InformerSettings(random=Random(7))
_BACK_OFF = 60.0  # seconds; the longest pause of an informer between two attempts


@pytest.fixture
def west(backend: Backend, tmp_path: Path) -> ControlPlane:
    """A second control plane of the same release; not started yet."""
    if backend.plane is None:
        pytest.skip("the suite has not started this server: pass a folder of binaries; embedded: tests/informers")
    return ControlPlane(Path(backend.plane.api_server.command[0]).parent, folder=tmp_path / "west", keep=False)


class Clusters:
    """Clients of both clusters, their joined informers, and the events of a handler."""

    def __init__(self, clients: dict[str, Client], namespace: str) -> None:
        self.clients = clients
        self.namespace = namespace
        self.informers = {name: client.informer(CONFIGS, namespace=namespace) for name, client in clients.items()}
        self.joined: Join = dynkube.join(self.informers)
        self.events: list[str] = []
        self._changed = trio.Event()
        self.joined.add_handler(
            on_add=lambda cluster, obj: self._record(f"{cluster} add {obj.name}"),
            on_update=lambda cluster, _, new: self._record(f"{cluster} update {new.name}"),
            on_delete=lambda cluster, obj: self._record(f"{cluster} delete {obj.name}"),
        )

    def _record(self, event: str) -> None:
        if "kube-root-ca.crt" not in event:
            self.events.append(event)
            self._changed.set()

    async def put(self, cluster: str, name: str) -> None:
        """Create a ConfigMap."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        await self.clients[cluster].resource(CONFIGS).create(body, namespace=self.namespace)

    async def expect(self, *events: str) -> None:
        """Wait until the handler got as many events, and compare these."""
        with trio.fail_after(GIVE_UP + _BACK_OFF):
            while len(self.events) < len(events):
                self._changed = trio.Event()
                await self._changed.wait()
        assert sorted(self.events) == sorted(events)
        self.events.clear()


@asynccontextmanager
async def open_clusters(east: Client, west: ControlPlane, namespace: str) -> AsyncIterator[Clusters]:
    """Connect to both clusters, create the namespace in the second one, and join their informers."""
    async with dynkube.connect(kubeconfig=west.endpoint.kubeconfig(), settings=SETTINGS) as other:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await other.resource("namespaces.v1").create(body)
        clusters = Clusters({"east": east, "west": other}, namespace)
        async with clusters.joined:
            await clusters.joined.wait_synced()
            yield clusters


async def until(informer: Informer, phase: dynkube.Phase) -> None:
    with trio.fail_after(GIVE_UP + _BACK_OFF):
        await informer.wait_state(phase)


async def test_a_killed_cluster_keeps_its_objects_is_reported_and_catches_up(
    west: ControlPlane, client: Client, cluster: Cluster
) -> None:
    async with west, open_clusters(client, west, cluster.namespace) as clusters:
        await clusters.put("east", "a")
        await clusters.put("west", "a")
        await clusters.expect("east add a", "west add a")
        informer, size = clusters.informers["west"], len(clusters.joined)

        west.api_server.kill()
        await until(informer, DEGRADED)
        await clusters.put("east", "b")
        await clusters.expect("east add b")
        states = clusters.joined.states
        assert (states["east"].phase, states["west"].phase, len(clusters.joined)) == (LIVE, DEGRADED, size + 1)
        assert clusters.joined.state.message.startswith("west (1 of 2 clusters)")

        await trio.to_thread.run_sync(west.api_server.start)
        await clusters.put("west", "b")
        await until(informer, LIVE)
        await clusters.expect("west add b")
        assert (clusters.joined.state.phase, clusters.joined.has_synced) == (LIVE, True)
