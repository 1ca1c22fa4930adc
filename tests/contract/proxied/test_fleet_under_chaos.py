"""P13: fifty informers behind a proxy with random faults are synced with the server afterwards."""

from __future__ import annotations

from random import Random

import pytest
import trio

import dynkube
from dynkube_testing import Chaos, FaultProxy
from tests.contract.cluster import Cluster
from tests.contract.outages.fleet import launch

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

SECONDS = 10


@pytest.mark.scenario("P13", "F21", "F23")
async def test_after_random_faults_all_informers_are_synced(
    cluster: Cluster, proxy: FaultProxy, patient: dynkube.Client
) -> None:
    async with launch(cluster, patient) as fleet:
        chaos = Chaos(proxy, random=Random(11), every=0.25)
        async with trio.open_nursery() as writers:
            for number in range(2):
                writers.start_soon(fleet.write_for_ever, Random(number))
            await chaos.run(SECONDS)
            await fleet.wait_writes(20)
            writers.cancel_scope.cancel()
        proxy.drop_connections()  # including those that a fault has silenced

        await fleet.check()
        failures = sum(statistics.failures for statistics in fleet.statistics())
    assert chaos.counts.total() > 10
    assert failures > 10
