"""Watches: what comes first, what comes when, and as what."""

from __future__ import annotations

import pytest
import trio

from dynkube.errors import BadRequest, Gone, Invalid
from tests.testing.engine.cluster import Cluster, config, pod, read_ended, read_some, seen


@pytest.mark.parametrize("params", [{}, {"resourceVersion": "0"}])
async def test_without_a_version_a_watch_begins_with_what_is_there(cluster: Cluster, params: dict[str, str]) -> None:
    for name in ("b", "a"):
        cluster.create("configmaps", config(name))
    stream = cluster.watch("configmaps", **params)
    cluster.delete("configmaps", "a")

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


async def test_from_a_version_a_watch_shows_exactly_what_came_after(cluster: Cluster) -> None:
    cluster.create("configmaps", config("a"))
    start = cluster.list_of("configmaps")["metadata"]["resourceVersion"]
    cluster.create("configmaps", config("b"))
    cluster.create("pods", pod("c"))
    cluster.patch("configmaps", "a", {"data": {"k": "w"}})
    last = cluster.delete("configmaps", "b") and cluster.engine.revision

    events = await cluster.rest_of(cluster.watch("configmaps", resourceVersion=start))

    assert seen(events) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    assert events[1]["object"]["data"] == {"k": "w"}
    assert events[2]["object"]["metadata"]["resourceVersion"] == str(last)
    assert events[0]["object"]["kind"] == "ConfigMap"


async def test_an_object_that_enters_or_leaves_the_selection_is_added_or_deleted(cluster: Cluster) -> None:
    cluster.create("configmaps", config("a", labels={"on": "1"}))
    start = str(cluster.engine.revision)
    for labels in ({"on": "0"}, {"on": "1", "x": "y"}, {"on": "1"}, {"on": None}):
        cluster.patch("configmaps", "a", {"metadata": {"labels": labels}})
    cluster.delete("configmaps", "a")

    events = await cluster.rest_of(cluster.watch("configmaps", resourceVersion=start, labelSelector="on=1"))

    assert seen(events) == [("DELETED", "a"), ("ADDED", "a"), ("DELETED", "a")]
    left = events[0]["object"]["metadata"]
    assert left["labels"] == {"on": "1"}, "what was in the selection last"
    assert left["resourceVersion"] == str(int(start) + 1), "and when it left"


async def test_a_namespace_and_a_field_select_as_in_lists(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    streams = [
        cluster.watch("configmaps", namespace="shop"),
        cluster.watch("configmaps", fieldSelector="metadata.name=b"),
    ]
    for namespace, name in (("default", "a"), ("shop", "b"), ("shop", "c"), ("default", "b")):
        cluster.create("configmaps", config(name), namespace=namespace)

    events = [await cluster.rest_of(stream) for stream in streams]

    assert seen(events[0]) == [("ADDED", "b"), ("ADDED", "c")]
    assert seen(events[1]) == [("ADDED", "b"), ("ADDED", "b")]


async def test_an_event_reaches_a_waiting_reader_at_once(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps")
    async with trio.open_nursery() as nursery:

        async def create_later() -> None:
            await trio.sleep(7)
            cluster.create("configmaps", config())

        nursery.start_soon(create_later)
        begin = trio.current_time()
        assert seen(await read_some(stream)) == [("ADDED", "a")]
    assert trio.current_time() - begin == 7
    stream.close()


async def test_many_events_come_in_bounded_batches(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps")
    for number in range(1200):
        cluster.create("configmaps", config(f"c{number}"))

    sizes = [len(await read_some(stream)) for _ in range(3)]

    assert sizes == [500, 500, 200]
    stream.close()


async def test_a_version_of_the_future_is_waited_for(cluster: Cluster) -> None:
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.revision + 1))
    for name in ("a", "b"):
        cluster.create("configmaps", config(name))

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "b")]


async def test_a_version_that_is_gone_is_an_error_event_in_a_good_answer(cluster: Cluster) -> None:
    cluster.create("configmaps", config())
    cluster.engine.compact()

    (event,) = await read_ended(cluster.watch("configmaps", resourceVersion="1"))

    assert event["type"] == "ERROR"
    assert (event["object"]["kind"], event["object"]["code"], event["object"]["reason"]) == ("Status", 410, "Expired")
    assert event["object"]["message"] == f"too old resource version: 1 ({cluster.engine.revision})"


async def test_a_version_that_is_gone_can_be_an_http_answer_as_in_older_servers() -> None:
    cluster = Cluster(expired_watch="status")
    cluster.engine.compact()

    with pytest.raises(Gone, match="too old resource version"):
        cluster.watch("configmaps", resourceVersion="1")
    assert cluster.engine.open_watches == 0


async def test_the_version_of_the_latest_compaction_can_be_watched_from(cluster: Cluster) -> None:
    cluster.engine.compact()
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.revision))
    cluster.create("configmaps", config())

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "a")]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"labelSelector": "a in"}, "unable to parse requirement"),
        ({"timeoutSeconds": "long"}, 'strconv.ParseInt: parsing "long": invalid syntax'),
    ],
)
async def test_parameters_that_do_not_parse_are_refused(cluster: Cluster, params: dict[str, str], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        cluster.watch("configmaps", **params)


async def test_a_match_without_initial_events_is_refused(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="is forbidden for watch unless sendInitialEvents is provided"):
        cluster.watch("configmaps", resourceVersion="1", resourceVersionMatch="NotOlderThan")
