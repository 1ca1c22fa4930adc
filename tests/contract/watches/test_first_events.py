"""The first events of a watch, for all combinations of resourceVersion, sendInitialEvents and bookmarks.

https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
"""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import JSONObject, config

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
DECLINED = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
BOOKMARKS = {"allowWatchBookmarks": "true"}
MARK = "z"


def briefly(event: JSONObject) -> str:
    """Return the name of the added object, or ``.`` for the bookmark after the initial events."""
    metadata = event["object"]["metadata"]
    if event["type"] == "BOOKMARK":
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        return "."
    assert event["type"] == "ADDED"
    name: str = metadata["name"]
    return name


async def begin(three: Cluster, **params: str) -> str:
    """Return the events of a watch before that of an object that is created after the watch was opened."""
    first = (await three.get("configmaps", "a"))["metadata"]["resourceVersion"]
    query = {key: value.format(first=first) for key, value in params.items()}
    async with three.watch("configmaps", **query) as events:
        await three.create("configmaps", config(MARK))
        shown = "".join(briefly(event) for event in await events.until(MARK))
    assert shown.endswith(MARK)
    # The watch cache of old servers is not sorted.
    return "".join(sorted(shown[:-1])) if three.version < (1, 31) else shown[:-1]


@pytest.mark.parametrize(
    ("params", "events"),
    [
        ({}, "abc"),
        ({"resourceVersion": "0"}, "abc"),
        ({"resourceVersion": "{first}"}, "bc"),
        ({"resourceVersion": "{first}", **BOOKMARKS}, "bc"),
        ({"resourceVersion": "{first}", "limit": "1"}, "bc"),
        ({"resourceVersion": "{first}", "continue": "x"}, "bc"),
        ({"limit": "1"}, "abc"),
        ({"watch": "yes"}, "abc"),
        ({"watch": ""}, "abc"),
    ],
)
async def test_a_watch_starts_with_the_existing_objects_or_after_its_version(
    three: Cluster, params: dict[str, str], events: str
) -> None:
    assert await begin(three, **params) == events


@pytest.mark.parametrize(
    ("params", "events"),
    [
        ({**BOOKMARKS}, "abc."),
        ({"resourceVersion": "0", **BOOKMARKS}, "abc."),
        ({"allowWatchBookmarks": "yes"}, "abc."),
        ({**STREAMING}, "abc"),
        ({**STREAMING, **BOOKMARKS}, "abc."),
        ({**STREAMING, **BOOKMARKS, "resourceVersion": "0"}, "abc."),
        ({**STREAMING, **BOOKMARKS, "resourceVersion": "{first}"}, "abc."),
        ({**STREAMING, **BOOKMARKS, "sendInitialEvents": "1"}, "abc."),
        ({**DECLINED}, ""),
        ({**DECLINED, "resourceVersion": "0"}, ""),
        ({**DECLINED, "resourceVersion": "{first}"}, "bc"),
    ],
)
async def test_initial_events_end_with_an_annotated_bookmark(
    three: Cluster, params: dict[str, str], events: str
) -> None:
    if three.version >= (1, 34):
        assert await begin(three, **params) == events
    elif "resourceVersionMatch" not in params:
        assert await begin(three, **params) == "abc", "there is no bookmark at their end"
    else:
        with pytest.raises(Invalid, match="resourceVersionMatch is forbidden for watch"):
            await begin(three, **params)


@pytest.mark.since("1.34", "streaming lists were disabled by default")
async def test_the_bookmark_after_the_initial_events_has_their_version(cluster: Cluster) -> None:
    async with cluster.watch("configmaps", **STREAMING, **BOOKMARKS) as events:
        (end,) = await events.take(1)

    latest = (await cluster.list_of("configmaps"))["metadata"]["resourceVersion"]
    assert end["type"] == "BOOKMARK"
    assert (end["object"]["kind"], end["object"]["apiVersion"]) == ("ConfigMap", "v1")
    assert set(end["object"]["metadata"]) == {"resourceVersion", "annotations"}
    assert 0 < int(end["object"]["metadata"]["resourceVersion"]) <= int(latest)


async def test_a_watch_from_the_version_of_a_list_sends_each_later_change_once(three: Cluster) -> None:
    start = (await three.list_of("configmaps"))["metadata"]["resourceVersion"]
    await three.create("configmaps", config("d"))
    await three.patch("configmaps", "a", {"data": {"k": "w"}})
    await three.delete("configmaps", "b")

    async with three.watch("configmaps", resourceVersion=start) as events:
        await three.create("configmaps", config(MARK))
        shown = types_and_names(await events.until(MARK))

    assert shown == [("ADDED", "d"), ("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", MARK)]


async def test_a_watch_from_a_future_version_sends_no_earlier_events(three: Cluster) -> None:
    async with three.watch("configmaps", resourceVersion="9223372036854775807", timeoutSeconds="1") as events:
        await three.create("configmaps", config(MARK))

        assert await events.rest() == []


@pytest.mark.since("1.34", "streaming lists were disabled by default")
async def test_initial_events_of_a_future_version_are_an_error_event(cluster: Cluster) -> None:
    async with cluster.watch("configmaps", **STREAMING, resourceVersion="9223372036854775807") as events:
        (error,) = await events.rest()

    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 504, "Timeout")
    assert error["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert error["object"]["details"]["retryAfterSeconds"] == 1


async def test_a_compacted_version_is_an_error_event_in_a_200(cluster: Cluster) -> None:
    await cluster.create_crd()

    async with cluster.watch("widgets", resourceVersion="1") as events:
        (error,) = await events.rest()

    status = error["object"]
    assert (error["type"], status["kind"], status["apiVersion"]) == ("ERROR", "Status", "v1")
    assert (status["status"], status["code"], status["reason"]) == ("Failure", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
