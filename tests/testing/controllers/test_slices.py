"""Controllers do long work in slices and yield to other tasks in between, and short work at once."""

from __future__ import annotations

import trio
import trio.testing

from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster


def create_configs(cluster: Cluster, count: int) -> None:
    cluster.create("namespaces", {"metadata": {"name": "big"}})
    for number in range(count):
        cluster.create("configmaps", config(f"c{number}"), namespace="big")


async def test_a_large_namespace_is_emptied_in_slices(cluster: Cluster) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.engine.run)
        await trio.testing.wait_all_tasks_blocked()
        create_configs(cluster, 250)

        cluster.delete("namespaces", "big")
        remaining = len(cluster.names("configmaps"))
        await trio.testing.wait_all_tasks_blocked()

        assert remaining == 150
        assert "big" not in cluster.names("namespaces")
        nursery.cancel_scope.cancel()


async def test_a_small_namespace_is_deleted_before_the_call_returns(cluster: Cluster) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.engine.run)
        await trio.testing.wait_all_tasks_blocked()
        create_configs(cluster, 10)

        cluster.delete("namespaces", "big")

        assert "big" not in cluster.names("namespaces")
        nursery.cancel_scope.cancel()


def test_without_a_running_engine_all_work_is_done_at_once(cluster: Cluster) -> None:
    create_configs(cluster, 250)

    cluster.delete("namespaces", "big")

    assert "big" not in cluster.names("namespaces")
