"""Failure mode 1 on real connections: the load that informers of a thousand absent resources cause."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack

import pytest
import trio

from dynkube import ABSENT, Client
from dynkube_testing import FaultProxy
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP

pytestmark = pytest.mark.real_time


@pytest.mark.scenario("F1", "P12")
async def test_informers_of_a_thousand_absent_resources_share_two_watches(
    cluster: Cluster, proxy: FaultProxy, patient: Client
) -> None:
    informers = [patient.informer(f"things.v1.g{number}.{cluster.group}") for number in range(1000)]
    async with AsyncExitStack() as stack:
        async with trio.open_nursery() as entering:
            for informer in informers:
                entering.start_soon(stack.enter_async_context, informer)
        with trio.fail_after(GIVE_UP):
            for informer in informers:
                await informer.wait_state(ABSENT)
            await proxy.wait_open_watches(2)
        begin = len(proxy.audit)
        assert begin < 100, "old servers need a request for each group"

        await trio.sleep(5)

        watched = Counter(watch.resource.resource for watch in proxy.open_watches)
        assert watched == {"customresourcedefinitions": 1, "apiservices": 1}
        assert proxy.audit[begin:] == []
