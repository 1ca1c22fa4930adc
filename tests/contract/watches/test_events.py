"""The events of watches: each change once, in order, and relative to the selectors."""

from __future__ import annotations

import trio

from tests.contract.cluster import Cluster
from tests.contract.events import Events, types_and_names
from tests.contract.objects import JSONObject, config, pod


def version_of(obj: JSONObject) -> int:
    return int(obj["metadata"]["resourceVersion"])


async def latest(cluster: Cluster) -> str:
    version: str = (await cluster.list_of("configmaps"))["metadata"]["resourceVersion"]
    return version


async def test_events_have_the_complete_object_of_each_version(cluster: Cluster) -> None:
    async with cluster.watch("configmaps", resourceVersion=await latest(cluster)) as events:
        created = await cluster.create("configmaps", config())
        changed = await cluster.patch("configmaps", "a", {"data": {"k": "w"}})
        await cluster.delete("configmaps", "a")
        added, modified, deleted = await events.take(3)

    assert (added["type"], added["object"]) == ("ADDED", created)
    assert (modified["type"], modified["object"]) == ("MODIFIED", changed)
    assert (deleted["type"], deleted["object"]["data"]) == ("DELETED", {"k": "w"})
    assert (deleted["object"]["kind"], deleted["object"]["apiVersion"]) == ("ConfigMap", "v1")


async def test_a_deleted_event_has_the_version_of_the_deletion(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())
    async with cluster.watch("configmaps", resourceVersion=str(version_of(created))) as events:
        await cluster.delete("configmaps", "a")
        await cluster.create("configmaps", config("b"))
        deleted, added = await events.take(2)

    assert version_of(created) < version_of(deleted["object"]) < version_of(added["object"])
    assert deleted["object"]["metadata"]["uid"] == created["metadata"]["uid"]


async def test_an_object_with_finalizers_is_modified_before_it_is_deleted(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config(finalizers=["example.com/hold"]))
    async with cluster.watch("configmaps", resourceVersion=str(version_of(created))) as events:
        await cluster.delete("configmaps", "a")
        await cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}})
        modified, deleted = await events.take(2)

    assert [event["type"] for event in (modified, deleted)] == ["MODIFIED", "DELETED"]
    assert "deletionTimestamp" in modified["object"]["metadata"]
    assert deleted["object"]["metadata"]["finalizers"] == ["example.com/hold"], "it was never stored without finalizers"


async def test_a_write_without_changes_causes_no_event(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())
    async with cluster.watch("configmaps", resourceVersion=str(version_of(created))) as events:
        await cluster.patch("configmaps", "a", {"data": {"k": "v"}})
        await cluster.patch("configmaps", "a", {"data": {"k": "dry"}}, params={"dryRun": "All"})
        await cluster.create("configmaps", config("z"))

        assert types_and_names(await events.until("z")) == [("ADDED", "z")]


async def test_a_change_of_the_status_is_a_modified_event(cluster: Cluster) -> None:
    created = await cluster.create("pods", pod())
    async with cluster.watch("pods", resourceVersion=str(version_of(created))) as events:
        await cluster.patch("pods/status", "p", {"status": {"phase": "Running"}})
        (event,) = await events.take(1)

    assert (event["type"], event["object"]["status"]["phase"]) == ("MODIFIED", "Running")


async def test_an_object_that_starts_or_stops_matching_labels_is_added_or_deleted(cluster: Cluster) -> None:
    async def label(on: str, x: str = "") -> JSONObject:
        return await cluster.patch("configmaps", "a", {"metadata": {"labels": {"on": on, "x": x}}})

    start = str(version_of(await cluster.create("configmaps", config(labels={"on": "1"}))))
    async with cluster.watch("configmaps", resourceVersion=start, labelSelector="on=1") as events:
        unmatched = await label("0")
        await label("0", x="unseen")
        entered = await label("1")
        await label("1", x="seen")
        await cluster.delete("configmaps", "a")
        found = await events.take(4)

    assert [event["type"] for event in found] == ["DELETED", "ADDED", "MODIFIED", "DELETED"]
    deleted_object = found[0]["object"]
    assert deleted_object["metadata"]["labels"] == {"on": "1"}, "the object is the last one that matched"
    assert version_of(deleted_object) == version_of(unmatched), "its version is that of the change"
    assert version_of(found[1]["object"]) == version_of(entered)


async def test_an_object_that_starts_or_stops_matching_fields_is_added_or_deleted(cluster: Cluster) -> None:
    async def phase(name: str) -> JSONObject:
        return await cluster.patch("pods/status", "p", {"status": {"phase": name}})

    start = str(version_of(await cluster.create("pods", pod())))
    async with cluster.watch("pods", resourceVersion=start, fieldSelector="status.phase=Pending") as events:
        unmatched, entered = await phase("Running"), await phase("Pending")
        deleted, added = await events.take(2)

    assert (deleted["type"], deleted["object"]["status"]["phase"]) == ("DELETED", "Pending")
    assert version_of(deleted["object"]) == version_of(unmatched)
    assert (added["type"], added["object"]) == ("ADDED", entered)


async def test_deleting_an_object_that_does_not_match_causes_no_event(cluster: Cluster) -> None:
    start = str(version_of(await cluster.create("configmaps", config(labels={"on": "0"}))))
    async with cluster.watch("configmaps", resourceVersion=start, labelSelector="on=1") as events:
        await cluster.delete("configmaps", "a")
        await cluster.create("configmaps", config("z", labels={"on": "1"}))

        assert types_and_names(await events.until("z")) == [("ADDED", "z")]


async def test_one_object_can_be_watched_by_its_name(cluster: Cluster) -> None:
    for name in "ab":
        await cluster.create("configmaps", config(name))
    async with cluster.watch("configmaps", fieldSelector="metadata.name=b") as events:
        await cluster.patch("configmaps", "a", {"data": {"k": "w"}})
        await cluster.delete("configmaps", "b")
        await cluster.create("configmaps", config("b"))

        assert types_and_names(await events.take(3)) == [("ADDED", "b"), ("DELETED", "b"), ("ADDED", "b")]


async def test_one_namespace_or_all_can_be_watched(cluster: Cluster) -> None:
    other = f"{cluster.namespace}-b"
    await cluster.create("namespaces", {"metadata": {"name": other}})
    mine, start = f"of={cluster.namespace}", await latest(cluster)
    async with (
        cluster.watch("configmaps", resourceVersion=start) as here,
        cluster.watch("configmaps", namespace="", resourceVersion=start, labelSelector=mine) as everywhere,
    ):
        for namespace, name in ((other, "a"), (None, "b"), (other, "z"), (None, "z")):
            labels = {"of": cluster.namespace}
            await cluster.create("configmaps", config(name, labels=labels), namespace=namespace)

        assert types_and_names(await here.until("z")) == [("ADDED", "b"), ("ADDED", "z")]
        assert types_and_names(await everywhere.take(4)) == [
            ("ADDED", "a"),
            ("ADDED", "b"),
            ("ADDED", "z"),
            ("ADDED", "z"),
        ]


async def test_a_watch_can_be_opened_before_its_namespace_exists(cluster: Cluster) -> None:
    later = f"{cluster.namespace}-later"
    async with cluster.watch("configmaps", namespace=later) as events:
        await cluster.create("namespaces", {"metadata": {"name": later}})
        await cluster.create("configmaps", config("mine"), namespace=later)

        # Controllers may create ConfigMaps there too.
        assert (await events.until("mine"))[-1]["type"] == "ADDED"


async def changes(events: Events) -> list[tuple[str, str, int]]:
    """Return the type, name and version of each event up to the marker."""
    shown = await events.until("z")
    return [(event["type"], event["object"]["metadata"]["name"], version_of(event["object"])) for event in shown]


async def test_all_watches_have_the_same_order(cluster: Cluster) -> None:
    start = await latest(cluster)
    async with (
        cluster.watch("configmaps", resourceVersion=start) as first,
        cluster.watch("configmaps", resourceVersion=start) as second,
    ):
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(cluster.create, "configmaps", config(name))
        for name in "bca":
            await cluster.patch("configmaps", name, {"data": {"k": "w"}})
        await cluster.create("configmaps", config("z"))
        async with cluster.watch("configmaps", resourceVersion=start) as third:
            found = [await changes(events) for events in (first, second, third)]

    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 7
    versions = [version for _, _, version in found[0]]
    assert versions == sorted(set(versions))


async def test_a_watch_has_only_events_of_its_resource(cluster: Cluster) -> None:
    start = await latest(cluster)
    async with cluster.watch("configmaps", resourceVersion=start) as events:
        await cluster.create("secrets", {"metadata": {"name": "s"}})
        await cluster.create("pods", pod())
        await cluster.create("configmaps", config("z"))

        assert types_and_names(await events.until("z")) == [("ADDED", "z")]
