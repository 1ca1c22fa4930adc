"""P13: after each kind of outage, fifty informers are synced with the server again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
import trio

import dynkube
from dynkube_testing import APIServer
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster
from tests.contract.outages.fleet import launch
from tests.contract.outages.outages import EMBEDDED, ON_PROCESSES, SILENCE

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(autouse=True)
def _ours(backend: Backend) -> None:
    if backend.real and backend.plane is None:
        pytest.skip("tests must not kill the processes behind a kubeconfig: pass a folder of binaries")


@pytest.mark.scenario("F22", "P13")
@pytest.mark.parametrize("outage", ON_PROCESSES)
async def test_after_an_outage_all_informers_are_synced_without_repeated_events(
    outage: str, backend: Backend, server: APIServer | None, cluster: Cluster, connect: Callable[..., dynkube.Client]
) -> None:
    settings = dynkube.InformerSettings(random=Random(7), watch_idle_timeout=SILENCE if "still" in outage else 90.0)
    async with connect(settings=settings) as client, launch(cluster, client) as fleet:
        async with trio.open_nursery() as writers:
            for number in range(4):
                writers.start_soon(fleet.write_for_ever, Random(number))
            await fleet.wait_writes(100)
            before = fleet.statistics()

            await strike(outage, backend, server)

            await fleet.wait_writes(100)
            writers.cancel_scope.cancel()
        await fleet.check()
        after = fleet.statistics()
    if outage != "etcd restarted":  # the API server resumes its watches of etcd
        assert all(old.failures < new.failures for old, new in zip(before, after, strict=True))
    if outage == "history compacted":
        assert any(old.lists < new.lists for old, new in zip(before, after, strict=True))


async def strike(outage: str, backend: Backend, server: APIServer | None) -> None:
    if server is not None:
        await EMBEDDED[outage](server)
    else:
        assert backend.plane is not None
        await ON_PROCESSES[outage](backend.plane)
