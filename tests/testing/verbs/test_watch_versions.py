"""Every combination of resourceVersion, sendInitialEvents and bookmarks that a watch may have.

https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
"""

from __future__ import annotations

import pytest

from dynkube.errors import APIError
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import Cluster, config

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
DECLINED = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
BOOKMARKS = {"allowWatchBookmarks": "true"}


@pytest.fixture
def three(bare: Cluster) -> Cluster:
    for name in "abc":
        bare.create("configmaps", config(name))
    return bare


def briefly(event: JSONObject) -> str:
    """The name of what was added, ``.`` for the mark behind the initial events."""
    metadata = event["object"]["metadata"]
    if event["type"] == "BOOKMARK":
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        return "."
    assert event["type"] == "ADDED"
    name: str = metadata["name"]
    return name


@pytest.mark.parametrize(
    ("params", "events"),
    [
        ({}, "abc"),
        ({"resourceVersion": "0"}, "abc"),
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
        ({"resourceVersion": "{first}"}, "bc"),
        ({"resourceVersion": "{first}", **BOOKMARKS}, "bc"),
    ],
)
async def test_where_a_watch_begins(three: Cluster, params: dict[str, str], events: str) -> None:
    first = three.get("configmaps", "a")["metadata"]["resourceVersion"]
    query = {key: value.format(first=first) for key, value in params.items()}

    seen = await three.rest_of(three.watch("configmaps", **query))

    assert "".join(map(briefly, seen)) == events


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"sendInitialEvents": "true"}, 422, "requires setting resourceVersionMatch to NotOlderThan"),
        ({**STREAMING, "resourceVersionMatch": "Exact"}, 422, 'Unsupported value: "Exact"'),
        ({"resourceVersionMatch": "NotOlderThan"}, 422, "forbidden for watch unless sendInitialEvents is provided"),
        ({"continue": "x"}, 422, "resourceVersionMatch is forbidden when continue is provided"),
        ({"resourceVersion": "x"}, 500, 'resourceVersion: Invalid value: "x": strconv.ParseUint'),
        ({"timeoutSeconds": "x"}, 400, 'strconv.ParseInt: parsing "x"'),
        ({"labelSelector": "_a"}, 400, "unable to parse requirement: <nil>: Invalid value"),
        ({"fieldSelector": "spec.x=a"}, 400, '"spec.x" is not a known field selector'),
    ],
)
async def test_what_makes_no_sense_is_refused(three: Cluster, params: dict[str, str], code: int, words: str) -> None:
    with pytest.raises(APIError) as caught:
        three.watch("configmaps", **params)

    assert caught.value.code == code
    assert words in str(caught.value)


async def test_a_server_without_streaming_lists_does_not_mark_the_end_of_what_was_there() -> None:
    cluster = Cluster(watch_list=False)
    cluster.create("configmaps", config("a"))

    seen = await cluster.rest_of(cluster.watch("configmaps", **BOOKMARKS))

    assert "".join(map(briefly, seen)) == "a"
