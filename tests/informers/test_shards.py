"""Informers on one part of a collection by a hash, on servers with and without the shardSelector."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

import dynkube
from dynkube import HashShard, Unstructured
from dynkube.errors import InvalidInput
from dynkube.informers._pending_writes import PendingWrites
from dynkube_testing import APIServer, Delay, RequestFacts
from tests.informers.kit import WIDGETS, Recorder, crd, quiet, widget

NAMES = {f"w{number}" for number in range(30)}
HALVES = HashShard(0, 2), HashShard(1, 2)


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    for name in NAMES:
        server.create(widget(name))


def of(shard: HashShard, server: APIServer) -> set[str]:
    """Return the names of the widgets in a part."""
    return {obj["metadata"]["name"] for obj in server.list("widgets") if shard.matches(Unstructured(obj))}


@pytest.mark.parametrize("streaming", [True, False])
async def test_informers_of_all_parts_have_each_object_exactly_once(client: dynkube.Client, streaming: bool) -> None:
    found: list[str] = []
    for shard in HALVES:
        async with client.informer(WIDGETS, shard=shard, streaming_lists=streaming) as informer:
            await informer.wait_synced()
            found += [obj.name for obj in informer.list()]
            assert 0 < len(informer) < len(NAMES)

    assert sorted(found) == sorted(NAMES)


async def test_handlers_get_only_the_changes_of_one_part(server: APIServer, client: dynkube.Client) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS, shard=HALVES[0]) as informer:
        await informer.wait_synced()
        recorder.attach(informer)
        await recorder.drain()
        ours = of(HALVES[0], server)
        for name in sorted(NAMES):
            server.update(widget(name, size=1))
            await quiet()
            server.delete("widgets", name)
            await quiet()

        assert await recorder.drain() == [f"{event}/{name}" for name in sorted(ours) for event in ("update", "delete")]


async def test_an_object_that_is_created_again_may_be_in_another_part(
    server: APIServer, client: dynkube.Client
) -> None:
    recorder, name = Recorder(), min(of(HALVES[0], server))
    async with client.informer(WIDGETS, shard=HALVES[0]) as informer:
        await informer.wait_synced()
        recorder.attach(informer)
        await recorder.drain()
        while name in of(HALVES[0], server):
            server.delete("widgets", name)
            server.create(widget(name))

        assert (await recorder.drain())[-1:] == [f"delete/{name}"]
        assert informer.get(name) is None


async def test_lists_and_watches_have_the_shard_selector(server: APIServer, client: dynkube.Client) -> None:
    selectors: dict[str, str | None] = {}

    def note(request: RequestFacts) -> bool:
        if request.resource is not None and request.resource.resource == "widgets":
            selectors[request.verb] = request.params.get("shardSelector")
        return False

    server.inject(Delay(1), when=note)
    for streaming in (True, False):
        async with client.informer(WIDGETS, shard=HALVES[1], streaming_lists=streaming) as informer:
            await informer.wait_synced()
            await quiet()

    assert selectors == dict.fromkeys(("list", "watch"), str(HALVES[1]))


async def test_a_watch_continues_after_the_last_event_also_if_it_is_of_another_part(
    server: APIServer, client: dynkube.Client
) -> None:
    async with client.informer(WIDGETS, shard=HALVES[0]) as informer:
        await informer.wait_synced()
        changed = server.update(widget(min(of(HALVES[1], server)), size=1))
        await quiet()
        server.end_watches("widgets")
        await trio.sleep(10)

    watches = [request for request in server.requests if request.verb == "watch" and "widgets" in request.path]
    assert watches[-1].params["resourceVersion"] == changed["metadata"]["resourceVersion"]


async def test_pages_without_an_object_of_the_part_are_not_empty_pages(
    server: APIServer, client: dynkube.Client
) -> None:
    for number in range(100):
        server.create(widget(f"more{number}"))
    options: dict[str, Any] = {"page_size": 1, "streaming_lists": False, "consistency": "most_recent"}
    async with client.informer(WIDGETS, shard=HashShard(0, 1 << 40), **options) as informer:
        await informer.wait_state(dynkube.LIVE)

        assert len(informer) == 0


async def test_informers_of_different_parts_share_no_cache(client: dynkube.Client) -> None:
    shards = [HALVES[0], HashShard(0, 2), HALVES[1], None]
    async with AsyncExitStack() as stack:
        for shard in shards:
            await stack.enter_async_context(client.informer(WIDGETS, shard=shard))

        assert sorted(status.users for status in client.informers()) == [1, 1, 2]
        assert {status.shard for status in client.informers()} == {*HALVES, None}
        assert "shard 0 of 2" in str(client.informers())


async def test_waiting_for_a_write_to_another_part_is_rejected(server: APIServer, client: dynkube.Client) -> None:
    async with client.informer(WIDGETS, shard=HALVES[0]) as informer:
        await informer.wait_synced()
        ours = await client.get(WIDGETS, min(of(HALVES[0], server)))
        other = await client.get(WIDGETS, min(of(HALVES[1], server)))
        await informer.wait_for(ours)
        with pytest.raises(InvalidInput, match=r"is not in the informer's shard HashShard\(index=0, count=2"):
            await informer.wait_for(other)

        later = ["metadata", "resourceVersion"], "1000000"
        assert PendingWrites(informer).expect(ours.transform(*later), lambda: None)
        assert not PendingWrites(informer).expect(other.transform(*later), lambda: None)


async def test_a_shard_can_be_used_as_a_filter_function(server: APIServer, client: dynkube.Client) -> None:
    async with client.informer(WIDGETS, filter=HALVES[0].matches) as informer:
        await informer.wait_synced()
        assert {obj.name for obj in informer} == of(HALVES[0], server)


async def test_an_invalid_shard_is_rejected(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match=r"shard is a tuple: pass HashShard\(index, count\)"):
        client.informer(WIDGETS, shard=(0, 2))  # type: ignore[arg-type]
