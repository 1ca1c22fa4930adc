"""``sendInitialEvents``: a watch that begins with a list, whose end is an annotated bookmark (KEP-3157)."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.contract.events import types_and_names
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster

ASKED = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


async def test_the_bookmark_after_the_initial_events_has_the_version_of_the_request(cluster: Cluster) -> None:
    for name in ("b", "a"):
        cluster.create("configmaps", config(name))
    listed = cluster.engine.storage.revision
    stream = cluster.watch("configmaps", **ASKED)
    cluster.create("configmaps", config("c"))

    events = await cluster.rest_of(stream)

    assert types_and_names(events) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", ""), ("ADDED", "c")]
    assert events[2]["object"]["metadata"]["resourceVersion"] == str(listed)


async def test_without_watch_list_the_end_of_the_existing_objects_is_not_marked() -> None:
    cluster = Cluster(watch_list=False)
    cluster.create("configmaps", config("a"))

    assert types_and_names(await cluster.rest_of(cluster.watch("configmaps", allowWatchBookmarks="true"))) == [
        ("ADDED", "a")
    ]


async def test_without_watch_list_the_parameter_is_rejected() -> None:
    with pytest.raises(Invalid) as caught:
        Cluster(watch_list=False).watch("configmaps", **ASKED)

    assert caught.value.status.message == (
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for '
        "watch unless the WatchList feature gate is enabled"
    )
