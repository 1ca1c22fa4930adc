"""A join of two real clusters, of which one is killed and started again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import DEGRADED, LIVE, Client, Join, join
from dynkube_testing import ControlPlane

pytestmark = pytest.mark.real_time

TIMEOUT = 60.0  # seconds
OURS = {"of": "test"}
Planes = dict[str, ControlPlane]


@pytest.fixture
def planes(assets: Path, tmp_path: Path) -> Iterator[Planes]:
    """Two control planes."""
    with ExitStack() as stack:
        names = ("east", "west")
        yield {name: stack.enter_context(ControlPlane(assets, folder=tmp_path / name, keep=False)) for name in names}


def connect(plane: ControlPlane) -> Client:
    return dynkube.connect(kubeconfig=plane.kubeconfig(), settings=dynkube.InformerSettings(random=Random(7)))


async def put(client: Client, name: str) -> None:
    metadata = {"name": name, "namespace": "default", "labels": OURS}
    await client.resource("configmaps.v1").create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def shown(joined: Join) -> list[str]:
    return sorted(f"{cluster}/{obj.name}" for cluster, obj in joined.list())


async def until(joined: Join, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, after a change of any cluster's informer."""

    async def watch(cluster: str) -> None:
        while not condition():
            await joined.informers[cluster]._progress("change")
        nursery.cancel_scope.cancel()

    with trio.fail_after(TIMEOUT):
        async with trio.open_nursery() as nursery:
            for cluster in joined.informers:
                nursery.start_soon(watch, cluster)


async def test_a_join_shows_that_a_cluster_was_killed_and_started(planes: Planes) -> None:
    calls: list[str] = []
    async with connect(planes["east"]) as east, connect(planes["west"]) as west:
        informers: dict[str, Any] = {
            name: client.informer("configmaps.v1", label_selector=OURS)
            for name, client in (("east", east), ("west", west))
        }
        await put(east, "a")
        await put(west, "a")
        async with join(informers) as configs:
            configs.add_handler(
                on_add=lambda cluster, obj: calls.append(f"{cluster} add/{obj.name}"),
                on_delete=lambda cluster, obj: calls.append(f"{cluster} delete/{obj.name}"),
            )
            with trio.fail_after(TIMEOUT):
                await configs.wait_synced()
            await until(configs, lambda: configs.state.phase is LIVE)
            assert shown(configs) == ["east/a", "west/a"]

            await trio.to_thread.run_sync(planes["west"].api_server.kill)
            await until(configs, lambda: configs.states["west"].phase is DEGRADED)
            await put(east, "b")
            await until(configs, lambda: "east/b" in shown(configs))
            assert (configs.state.phase, configs.states["east"].phase) == (DEGRADED, LIVE)
            assert configs.state.message.startswith("west (1 of 2 clusters): ")
            assert shown(configs) == ["east/a", "east/b", "west/a"]

            await trio.to_thread.run_sync(planes["west"].api_server.start)
            await put(west, "b")
            await until(configs, lambda: "west/b" in shown(configs) and configs.state.phase is LIVE)
            assert shown(configs) == ["east/a", "east/b", "west/a", "west/b"]
            assert sorted(calls) == ["east add/a", "east add/b", "west add/a", "west add/b"]
