"""Controllers that share objects by a hash of their UIDs: each object is reconciled by one process."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import HashShard, Unstructured
from dynkube.controllers import Context, Controller, LeaderElection, ObjectKey, Watch, run, to_same_name
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from tests.controllers.kit import START, Calls, quiet
from tests.informers.kit import WIDGETS, crd, widget

NAMES = [f"w{number}" for number in range(20)]
HALVES = HashShard(0, 2), HashShard(1, 2)


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    for name in NAMES:
        server.create(widget(name))


def keys_of(server: APIServer, shard: HashShard) -> list[str]:
    """Return the keys of the widgets in a part."""
    found = [Unstructured(obj) for obj in server.list("widgets")]
    return sorted(f"default/{obj.name}" for obj in found if shard.matches(obj))


async def run_for(seconds: float, client: dynkube.Client, controller: Controller, shard: HashShard) -> None:
    with trio.move_on_after(seconds):
        await run(client, controller, sharding=shard, shutdown_timeout=0, now=lambda: START, random=Random(7))


@pytest.mark.parametrize("shard", HALVES)
async def test_each_object_is_reconciled_by_the_process_of_its_part(
    server: APIServer, client: dynkube.Client, shard: HashShard
) -> None:
    calls = Calls()
    await run_for(5, client, Controller(WIDGETS, calls), shard)

    assert sorted(calls.keys) == keys_of(server, shard) != []


async def test_keys_of_other_parts_that_a_mapper_returns_are_ignored(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    for name in NAMES:
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    controller = Controller(WIDGETS, calls, watches=[Watch("configmaps", to=to_same_name)])
    await run_for(5, client, controller, HALVES[0])

    assert sorted(set(calls.keys)) == keys_of(server, HALVES[0])


async def test_an_object_that_is_created_again_moves_to_the_part_of_its_new_uid(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_for, 60, client, Controller(WIDGETS, calls), HALVES[0])
        await quiet(5)
        key = keys_of(server, HALVES[0])[0]
        while key in keys_of(server, HALVES[0]):
            server.delete("widgets", key.removeprefix("default/"))
            server.create(widget(key.removeprefix("default/")))
        del calls.keys[:]
        await quiet(20)

    assert calls.keys == []  # another process may still be reconciling it


async def test_owned_objects_of_all_parts_are_watched(server: APIServer, client: dynkube.Client) -> None:
    counts: set[int] = set()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        counts.add(len(ctx.list("configmaps")))

    for name in NAMES:
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    await run_for(5, client, Controller(WIDGETS, reconcile, owns=["configmaps"]), HALVES[0])

    assert counts == {len(NAMES)}


async def test_a_part_may_have_leader_election(server: APIServer, client: dynkube.Client) -> None:
    calls, election = Calls(), LeaderElection("widgets-1", namespace="default")
    with trio.move_on_after(5):
        await run(client, Controller(WIDGETS, calls), election=election, sharding=HALVES[1])
    assert sorted(calls.keys) == keys_of(server, HALVES[1])
    assert server.get("leases", "widgets-1")["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("given", ["widgets", (0, 2), HashShard])
async def test_an_invalid_sharding_is_rejected(client: dynkube.Client, given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"sharding is .*: pass ControllerRing\(name\), HashShard\(index, count\)"):
        await run(client, Controller(WIDGETS, Calls()), sharding=given)


async def test_an_invalid_shard_of_a_watch_is_rejected() -> None:
    shard: Any = 0
    with pytest.raises(InvalidInput, match="pass HashShard"):
        Watch("pods", shard=shard)
