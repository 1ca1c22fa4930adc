"""Lists in chunks: all of one state, and what continue tokens stand."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dynkube.errors import BadRequest
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config


def names(page: JSONObject) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"]]


async def following(cluster: Cluster, page: JSONObject, **params: str) -> JSONObject:
    return await cluster.list_of("configmaps", **{"continue": page["metadata"]["continue"], **params})


def forged(token: str, **changes: Any) -> str:
    """A token with other contents: clients should never do that, and servers have to stand it."""
    fields = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    return base64.urlsafe_b64encode(json.dumps({**fields, **changes}).encode()).decode().rstrip("=")


async def test_chunks_are_of_one_state_whatever_happens_between_them(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")
    await five.delete("configmaps", "c")
    await five.create("configmaps", config("f"))
    await five.patch("configmaps", "d", {"data": {"k": "changed"}})

    second = await following(five, first, limit="2")
    third = await following(five, second, limit="2")

    assert [names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert second["items"][1]["data"] == {"k": "v"}
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1
    assert "continue" not in third["metadata"]


async def test_a_chunk_that_takes_all_has_no_more(five: Cluster) -> None:
    page = await five.list_of("configmaps", limit="5")

    assert names(page) == list("abcde")
    assert set(page["metadata"]) == {"resourceVersion"}


async def test_the_size_of_chunks_may_change_on_the_way(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="1")
    second = await following(five, first, limit="3")
    third = await following(five, second)

    assert [names(page) for page in (first, second, third)] == [["a"], ["b", "c", "d"], ["e"]]


async def test_a_chunk_in_the_middle_can_be_read_again(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")

    assert names(await following(five, first, limit="2")) == ["c", "d"]
    assert names(await following(five, first, limit="2")) == ["c", "d"]


async def test_chunks_go_through_all_namespaces(cluster: Cluster) -> None:
    other = f"{cluster.namespace}-b"
    await cluster.create("namespaces", {"metadata": {"name": other}})
    for namespace in (None, other):
        for name in "ab":
            body = config(name, labels={"of": cluster.namespace})
            await cluster.create("configmaps", body, namespace=namespace)
    params = {"limit": "1", "labelSelector": f"of={cluster.namespace}", "namespace": ""}

    page, found = await cluster.list_of("configmaps", **params), []
    while token := page["metadata"].get("continue"):
        found += page["items"]
        page = await cluster.list_of("configmaps", **params, **{"continue": token})
    found += page["items"]

    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in found]
    assert places == [(other, "a"), (other, "b"), (cluster.namespace, "a"), (cluster.namespace, "b")]


async def test_with_a_selector_the_rest_is_not_counted_and_may_be_empty(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="1", labelSelector="tier=be")
    second = await following(five, first, limit="1", labelSelector="tier=be")
    third = await following(five, second, limit="1", labelSelector="tier=be")

    assert [names(page) for page in (first, second, third)] == [["b"], ["d"], []]
    assert not any("remainingItemCount" in page["metadata"] for page in (first, second, third))
    assert "continue" not in third["metadata"]


async def test_a_chunk_has_as_many_as_are_selected_not_as_are_looked_at(five: Cluster) -> None:
    page = await five.list_of("configmaps", limit="2", fieldSelector="metadata.name!=a")

    assert names(page) == ["b", "c"]
    assert "remainingItemCount" not in page["metadata"]


async def test_the_token_tells_the_place_and_the_request_everything_else(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")
    await five.create("secrets", {"metadata": {"name": "s"}})

    selected = await following(five, first, labelSelector="tier=fe")
    elsewhere = await five.list_of("secrets", **{"continue": first["metadata"]["continue"]})

    assert names(selected) == ["c", "e"]
    assert names(elsewhere) == [], "the secret is newer than the token"


async def test_the_place_is_relative_to_what_is_listed(five: Cluster) -> None:
    other = f"{five.namespace}-other"
    await five.create("namespaces", {"metadata": {"name": other}})
    for name in "abc":
        await five.create("configmaps", config(name), namespace=other)
    first = await five.list_of("configmaps", limit="2")

    page = await five.list_of("configmaps", namespace=other, **{"continue": first["metadata"]["continue"]})

    assert names(page) == ["c"]


async def test_a_version_is_in_the_token_already(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")

    with pytest.raises(BadRequest, match="specifying resource version is not allowed when using continue"):
        await following(five, first, resourceVersion=first["metadata"]["resourceVersion"])


async def test_a_version_of_zero_does_not_count_as_one(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")

    page = await following(five, first, resourceVersion="0", limit="2")

    # The watch cache, which answers for "0" and continues lists in current servers, has no limit for it.
    assert names(page) == (["c", "d", "e"] if five.version >= (1, 34) else ["c", "d"])


async def test_a_token_of_a_state_that_was_compacted_away_brings_one_to_go_on_with(
    cluster: Cluster, compacted: str
) -> None:
    await cluster.define()
    for name in "abcde":
        await cluster.create("widgets", cluster.widget(name))
    first = await cluster.list_of("widgets", limit="2")
    await cluster.delete("widgets", "c")
    await cluster.create("widgets", cluster.widget("f"))
    old = forged(first["metadata"]["continue"], rv=int(compacted))

    answer = await cluster.call("GET", cluster.path("widgets"), params={"continue": old, "limit": "2"})

    assert (answer.code, answer.body["reason"]) == (410, "Expired")
    assert answer.body["message"].startswith("The provided continue parameter is too old to display a consistent list")
    page = await cluster.list_of("widgets", limit="2", **{"continue": answer.body["metadata"]["continue"]})
    last = await cluster.list_of("widgets", **{"continue": page["metadata"]["continue"]})
    assert (names(page), names(last)) == (["d", "e"], ["f"])
    assert int(page["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


@pytest.mark.parametrize(
    ("token", "detail"),
    [
        ("%", "illegal base64 data at input byte 0"),
        ("abc!", "illegal base64 data at input byte 3"),
        ("abcda", "illegal base64 data at input byte 4"),
        ("nonsense", "invalid character '\\u009e' looking for beginning of value"),
        ("e30=", "illegal base64 data at input byte 3"),
    ],
)
async def test_what_is_no_token_is_refused(five: Cluster, token: str, detail: str) -> None:
    answer = await five.call("GET", five.path("configmaps"), params={"continue": token})

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert answer.body["message"] == f"invalid continue token: continue key is not valid: {detail}"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"v": "meta.k8s.io/v2"}, "server does not recognize this encoded version "),
        ({"rv": 0}, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        ({"start": ""}, "encoded start key empty (version meta.k8s.io/v1)"),
        ({"start": "../../a"}, "../../a"),
        ({"start": "a//b"}, "a//b"),
        ({"start": "b/"}, "b/"),
    ],
)
async def test_a_token_that_was_tampered_with_is_refused(five: Cluster, changes: JSONObject, detail: str) -> None:
    first = await five.list_of("configmaps", limit="2")
    token = forged(first["metadata"]["continue"], **changes)

    with pytest.raises(BadRequest) as caught:
        await five.list_of("configmaps", **{"continue": token})

    assert caught.value.status.message.startswith(f"invalid continue token: continue key is not valid: {detail}")
