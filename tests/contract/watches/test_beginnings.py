"""Where a watch begins: every combination of resourceVersion, sendInitialEvents and bookmarks.

https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
"""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import Cluster
from tests.contract.events import seen
from tests.contract.objects import JSONObject, config

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
DECLINED = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
BOOKMARKS = {"allowWatchBookmarks": "true"}
MARK = "z"


def briefly(event: JSONObject) -> str:
    """The name of what was added, ``.`` for the mark behind the initial events."""
    metadata = event["object"]["metadata"]
    if event["type"] == "BOOKMARK":
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        return "."
    assert event["type"] == "ADDED"
    name: str = metadata["name"]
    return name


async def begin(three: Cluster, **params: str) -> str:
    """What a watch shows before an object that is created once it is open."""
    first = (await three.get("configmaps", "a"))["metadata"]["resourceVersion"]
    query = {key: value.format(first=first) for key, value in params.items()}
    async with three.watch("configmaps", **query) as events:
        await three.create("configmaps", config(MARK))
        shown = "".join(briefly(event) for event in await events.until(MARK))
    assert shown.endswith(MARK)
    # The watch cache of old servers has no order.
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
async def test_a_watch_begins_with_what_is_there_or_behind_its_version(
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
async def test_initial_events_end_with_an_annotated_bookmark_where_servers_stream_lists(
    three: Cluster, params: dict[str, str], events: str
) -> None:
    if three.version >= (1, 34):
        assert await begin(three, **params) == events
    elif "resourceVersionMatch" not in params:
        assert await begin(three, **params) == "abc", "and nobody says where they end"
    else:
        with pytest.raises(Invalid, match="resourceVersionMatch is forbidden for watch"):
            await begin(three, **params)


@pytest.mark.since("1.34", "servers did not stream lists unless told to")
async def test_the_end_of_the_initial_events_has_the_version_they_are_of(cluster: Cluster) -> None:
    async with cluster.watch("configmaps", **STREAMING, **BOOKMARKS) as events:
        (end,) = await events.take(1)

    latest = (await cluster.list_of("configmaps"))["metadata"]["resourceVersion"]
    assert end["type"] == "BOOKMARK"
    assert (end["object"]["kind"], end["object"]["apiVersion"]) == ("ConfigMap", "v1")
    assert set(end["object"]["metadata"]) == {"resourceVersion", "annotations"}
    assert 0 < int(end["object"]["metadata"]["resourceVersion"]) <= int(latest)


async def test_a_list_and_a_watch_from_its_version_miss_nothing_and_show_nothing_twice(three: Cluster) -> None:
    start = (await three.list_of("configmaps"))["metadata"]["resourceVersion"]
    await three.create("configmaps", config("d"))
    await three.patch("configmaps", "a", {"data": {"k": "w"}})
    await three.delete("configmaps", "b")

    async with three.watch("configmaps", resourceVersion=start) as events:
        await three.create("configmaps", config(MARK))
        shown = seen(await events.until(MARK))

    assert shown == [("ADDED", "d"), ("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", MARK)]


async def test_a_version_of_the_future_is_waited_for(three: Cluster) -> None:
    async with three.watch("configmaps", resourceVersion="9223372036854775807", timeoutSeconds="1") as events:
        await three.create("configmaps", config(MARK))

        assert await events.rest() == []


@pytest.mark.since("1.34", "servers did not stream lists unless told to")
async def test_initial_events_of_the_future_are_an_error_event(cluster: Cluster) -> None:
    async with cluster.watch("configmaps", **STREAMING, resourceVersion="9223372036854775807") as events:
        (error,) = await events.rest()

    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 504, "Timeout")
    assert error["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert error["object"]["details"]["retryAfterSeconds"] == 1


async def test_a_version_that_is_gone_is_an_error_event_in_a_good_answer(cluster: Cluster) -> None:
    await cluster.define()

    async with cluster.watch("widgets", resourceVersion="1") as events:
        (error,) = await events.rest()

    status = error["object"]
    assert (error["type"], status["kind"], status["apiVersion"]) == ("ERROR", "Status", "v1")
    assert (status["status"], status["code"], status["reason"]) == ("Failure", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
