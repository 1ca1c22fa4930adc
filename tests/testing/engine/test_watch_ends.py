"""How watches end (timeout, server, slow reader), and bookmarks."""

from __future__ import annotations

import random

import pytest
import trio

from dynkube.errors import NoMatch
from tests.contract.events import types_and_names
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster, read_all, read_ended, read_some

ASKED = {"allowWatchBookmarks": "true"}


async def test_a_watch_lasts_for_its_timeout_seconds(cluster: Cluster) -> None:
    begin = trio.current_time()

    assert await read_all(cluster.watch("configmaps", timeoutSeconds="45")) == []
    assert trio.current_time() - begin == 45
    assert len(cluster.engine.watches) == 0


async def test_a_watch_without_timeout_seconds_lasts_between_30_and_60_minutes() -> None:
    cluster = Cluster(random=random.Random(3))
    begin = trio.current_time()

    await read_all(cluster.watch("configmaps"))

    assert 1800 <= trio.current_time() - begin <= 3600


async def test_bookmarks_are_sent_at_the_interval_and_shortly_before_the_end() -> None:
    cluster = Cluster(bookmark_interval=60)
    stream = cluster.watch(
        "configmaps", resourceVersion=str(cluster.engine.storage.revision), timeoutSeconds="150", **ASKED
    )
    begin, times = trio.current_time(), []
    async for batch in stream:
        assert [event.type for event in batch] == ["BOOKMARK"]
        times.append(trio.current_time() - begin)

    assert times == [60, 120, 148]


async def test_a_bookmark_has_the_latest_version_of_all_resources(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.storage.revision), **ASKED)
    cluster.create("secrets", {"metadata": {"name": "unrelated"}})

    (event,) = await read_some(stream)

    assert event == {
        "type": "BOOKMARK",
        "object": {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(cluster.engine.storage.revision)},
        },
    }
    stream.close()


async def test_bookmarks_are_sent_only_if_requested(cluster: Cluster) -> None:
    assert await read_all(cluster.watch("configmaps", timeoutSeconds="600")) == []


async def test_an_ended_watch_yields_the_events_before_its_end(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps")
    cluster.create("configmaps", config("a"))
    assert cluster.engine.end_watches("configmaps") == 1
    cluster.create("configmaps", config("b"))

    assert types_and_names(await read_ended(stream)) == [("ADDED", "a")]


async def test_end_watches_ends_only_the_watches_of_the_given_resource(cluster: Cluster) -> None:
    for resource in ("configmaps", "pods", "deployments"):
        cluster.watch(resource)

    assert cluster.engine.end_watches("deployments.apps") == 1
    assert cluster.engine.end_watches() == 3
    with pytest.raises(NoMatch, match="does not serve 'gadgets'"):
        cluster.engine.end_watches("gadgets")


async def test_closing_a_stream_ends_a_waiting_reader(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_ended, stream)
        await trio.testing.wait_all_tasks_blocked()
        stream.close()
        stream.close()
    assert len(cluster.engine.watches) == 0


async def test_a_watch_whose_unread_events_were_compacted_ends() -> None:
    cluster = Cluster(history=10)
    slow, idle = cluster.watch("configmaps"), cluster.watch("secrets")
    for number in range(30):
        cluster.create("configmaps", config(f"c{number}"))

    assert await read_ended(slow) == []
    cluster.create("secrets", {"metadata": {"name": "s"}})
    assert types_and_names(await cluster.rest_of(idle)) == [("ADDED", "s")], "none of its events was compacted"


async def test_at_least_the_configured_number_of_revisions_is_kept() -> None:
    cluster = Cluster(history=10)
    storage = cluster.engine.storage
    for number in range(100):
        cluster.create("configmaps", config(f"c{number}"))
        assert storage.revision - storage.compacted >= min(10, storage.revision)
    assert storage.compacted > 0

    start = str(cluster.engine.storage.revision - 10)
    assert len(await cluster.rest_of(cluster.watch("configmaps", resourceVersion=start))) == 10
