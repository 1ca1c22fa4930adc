"""The ends of watches, and the bookmarks shortly before them."""

from __future__ import annotations

import trio

from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import config, version


async def test_a_watch_ends_cleanly_after_timeout_seconds(cluster: Cluster) -> None:
    begin = trio.current_time()

    async with cluster.watch("configmaps", timeoutSeconds="1") as events:
        await cluster.create("configmaps", config())
        shown = await events.rest()

    assert types_and_names(shown) == [("ADDED", "a")]
    assert trio.current_time() - begin >= 1


async def test_a_bookmark_shortly_before_the_end_has_the_latest_version(cluster: Cluster) -> None:
    start = (await cluster.list_of("configmaps"))["metadata"]["resourceVersion"]
    plain = {"resourceVersion": start, "timeoutSeconds": "5"}
    with_bookmarks = {**plain, "allowWatchBookmarks": "true"}

    async with (
        cluster.watch("configmaps", **with_bookmarks) as events,
        cluster.watch("configmaps", **plain) as without_bookmarks,
    ):
        created = await cluster.create("configmaps", config())
        shown = await events.rest()
        assert types_and_names(await without_bookmarks.rest()) == [("ADDED", "a")], "bookmarks must be requested"

    assert [event["type"] for event in shown][:2] == ["ADDED", "BOOKMARK"]
    assert {event["type"] for event in shown[1:]} == {"BOOKMARK"}
    bookmark = shown[1]["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert "name" not in bookmark["metadata"]
    assert "data" not in bookmark
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])


async def test_a_change_of_the_crd_ends_watches_and_makes_their_versions_expire(cluster: Cluster) -> None:
    crd = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())
    start = (await cluster.list_of("widgets"))["metadata"]["resourceVersion"]
    async with cluster.watch("widgets", resourceVersion=start) as events:
        crd["spec"]["versions"].append(version("v2", storage=False))
        cluster.register_crd(await cluster.update("customresourcedefinitions", crd))

        assert await events.rest() == []

    await cluster.until_served("widgets.v2")
    async with cluster.watch("widgets", resourceVersion=start) as events:
        (error,) = await events.rest()
    assert (error["type"], error["object"]["code"]) == ("ERROR", 410)
