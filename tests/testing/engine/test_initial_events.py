"""``sendInitialEvents``: a list inside a watch, ended by an annotated bookmark (KEP-3157)."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.testing.engine.cluster import Cluster, config, read_ended, seen

ASKED = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.mark.parametrize("version", [{}, {"resourceVersion": "0"}, {"resourceVersion": "1"}])
async def test_initial_events_end_with_an_annotated_bookmark(cluster: Cluster, version: dict[str, str]) -> None:
    for name in ("b", "a"):
        cluster.create("configmaps", config(name))
    listed = cluster.engine.revision
    stream = cluster.watch("configmaps", **ASKED, **version)
    cluster.create("configmaps", config("c"))

    events = await cluster.rest_of(stream)

    assert seen(events) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", ""), ("ADDED", "c")]
    end = events[2]["object"]["metadata"]
    assert end["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert end["resourceVersion"] == str(listed)


async def test_an_empty_collection_has_an_end_too(cluster: Cluster) -> None:
    (event,) = await cluster.rest_of(cluster.watch("configmaps", **ASKED))

    assert event["type"] == "BOOKMARK"


async def test_without_bookmarks_the_end_is_not_told(cluster: Cluster) -> None:
    cluster.create("configmaps", config())
    stream = cluster.watch("configmaps", **{**ASKED, "allowWatchBookmarks": "false"})

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "a")]


async def test_declined_initial_events_do_not_come(cluster: Cluster) -> None:
    cluster.create("configmaps", config())
    stream = cluster.watch("configmaps", **{**ASKED, "sendInitialEvents": "false"})
    cluster.create("configmaps", config("b"))

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "b")]


async def test_a_version_still_to_come_is_an_error_event(cluster: Cluster) -> None:
    (event,) = await read_ended(cluster.watch("configmaps", **ASKED, resourceVersion="99"))

    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_they_need_a_version_match(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"):
        cluster.watch("configmaps", sendInitialEvents="true")


async def test_a_server_without_them_says_so() -> None:
    with pytest.raises(Invalid) as caught:
        Cluster(watch_list=False).watch("configmaps", **ASKED)

    assert caught.value.status.message == (
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for '
        "watch unless the WatchList feature gate is enabled"
    )
