"""Watch streams: when events arrive, the size of batches, and versions in the future or compacted."""

from __future__ import annotations

import pytest
import trio

from dynkube.errors import Gone
from tests.contract.events import types_and_names
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster, read_some


async def test_an_event_reaches_a_waiting_reader_at_once(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps")
    async with trio.open_nursery() as nursery:

        async def create_later() -> None:
            await trio.sleep(7)
            cluster.create("configmaps", config())

        nursery.start_soon(create_later)
        begin = trio.current_time()
        assert types_and_names(await read_some(stream)) == [("ADDED", "a")]
    assert trio.current_time() - begin == 7
    stream.close()


async def test_many_events_are_read_in_bounded_batches(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps")
    for number in range(1200):
        cluster.create("configmaps", config(f"c{number}"))

    sizes = [len(await read_some(stream)) for _ in range(3)]

    assert sizes == [500, 500, 200]
    stream.close()


async def test_a_watch_from_a_future_version_waits_for_it(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.storage.revision + 1))
    for name in ("a", "b"):
        cluster.create("configmaps", config(name))

    assert types_and_names(await cluster.rest_of(stream)) == [("ADDED", "b")]


async def test_with_expired_watch_status_a_compacted_version_is_an_http_error_as_in_older_servers() -> None:
    cluster = Cluster(expired_watch="status")
    cluster.engine.storage.compact()

    with pytest.raises(Gone, match="too old resource version"):
        cluster.watch("configmaps", resourceVersion="1")
    assert len(cluster.engine.watches) == 0


async def test_a_watch_can_start_from_the_version_of_the_latest_compaction(cluster: Cluster) -> None:
    cluster.engine.storage.compact()
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.storage.revision))
    cluster.create("configmaps", config())

    assert types_and_names(await cluster.rest_of(stream)) == [("ADDED", "a")]
