"""Watches whose events are tables."""

from __future__ import annotations

import pytest

from tests.contract.cluster import TABLE, Cluster
from tests.contract.objects import config

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


async def test_only_the_first_event_of_a_watch_has_columns(cluster: Cluster) -> None:
    start = (await cluster.create("configmaps", config("a")))["metadata"]["resourceVersion"]
    params = {"watch": "1", "resourceVersion": start, "includeObject": "None"}

    async with cluster.stream(cluster.path("configmaps"), params, accept=TABLE) as events:
        await cluster.create("configmaps", config("b"))
        await cluster.create("configmaps", config("c"))
        await cluster.delete("configmaps", "c")
        shown = await events.take(3)

    assert [event["type"] for event in shown] == ["ADDED", "ADDED", "DELETED"]
    assert [row["cells"][:2] for event in shown for row in event["object"]["rows"]] == [["b", 1], ["c", 1], ["c", 1]]
    assert [bool(event["object"]["columnDefinitions"]) for event in shown] == [True, False, False]


@pytest.mark.since("1.34", "streaming lists were disabled by default")
async def test_the_row_of_a_bookmark_has_the_annotation_for_the_end_of_initial_events(cluster: Cluster) -> None:
    await cluster.create("configmaps", config("a"))
    params = {"watch": "1", "includeObject": "None", "fieldSelector": "metadata.name=a", **STREAMING}

    async with cluster.stream(cluster.path("configmaps"), params, accept=TABLE) as events:
        _, bookmark = await events.take(2)

    (row,) = bookmark["object"]["rows"]
    assert (bookmark["type"], row["cells"]) == ("BOOKMARK", ["", 0, "<unknown>"])
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_error_in_a_watch_is_a_plain_status(cluster: Cluster) -> None:
    await cluster.create_crd()
    params = {"watch": "1", "resourceVersion": "1"}

    async with cluster.stream(cluster.path("widgets"), params, accept=TABLE) as events:
        (error,) = await events.rest()

    assert (error["type"], error["object"]["kind"], error["object"]["code"]) == ("ERROR", "Status", 410)
