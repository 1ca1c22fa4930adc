"""Lists with ``limit`` (chunks): all chunks show the same state; continue tokens that are changed or too old."""

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
    """Return a token with changed contents: clients must not do that, but servers have to handle it."""
    fields = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    return base64.urlsafe_b64encode(json.dumps({**fields, **changes}).encode()).decode().rstrip("=")


async def test_all_chunks_show_the_same_state(five: Cluster) -> None:
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


async def test_a_chunk_with_all_objects_has_no_continue_token(five: Cluster) -> None:
    page = await five.list_of("configmaps", limit="5")

    assert names(page) == list("abcde")
    assert set(page["metadata"]) == {"resourceVersion"}


async def test_the_limit_can_change_between_chunks(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="1")
    second = await following(five, first, limit="3")
    third = await following(five, second)

    assert [names(page) for page in (first, second, third)] == [["a"], ["b", "c", "d"], ["e"]]


async def test_a_continue_token_can_be_used_twice(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")

    assert names(await following(five, first, limit="2")) == ["c", "d"]
    assert names(await following(five, first, limit="2")) == ["c", "d"]


async def test_chunks_of_all_namespaces(cluster: Cluster) -> None:
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


async def test_with_a_selector_there_is_no_remaining_count_and_the_last_chunk_may_be_empty(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="1", labelSelector="tier=be")
    second = await following(five, first, limit="1", labelSelector="tier=be")
    third = await following(five, second, limit="1", labelSelector="tier=be")

    assert [names(page) for page in (first, second, third)] == [["b"], ["d"], []]
    assert not any("remainingItemCount" in page["metadata"] for page in (first, second, third))
    assert "continue" not in third["metadata"]


async def test_the_limit_counts_only_selected_objects(five: Cluster) -> None:
    page = await five.list_of("configmaps", limit="2", fieldSelector="metadata.name!=a")

    assert names(page) == ["b", "c"]
    assert "remainingItemCount" not in page["metadata"]


async def test_a_token_has_only_the_position_and_the_version(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")
    await five.create("secrets", {"metadata": {"name": "s"}})

    selected = await following(five, first, labelSelector="tier=fe")
    secrets = await five.list_of("secrets", **{"continue": first["metadata"]["continue"]})

    assert names(selected) == ["c", "e"]
    assert names(secrets) == [], "the secret is newer than the token"


async def test_the_position_in_a_token_is_relative_to_the_listed_namespace(five: Cluster) -> None:
    other = f"{five.namespace}-other"
    await five.create("namespaces", {"metadata": {"name": other}})
    for name in "abc":
        await five.create("configmaps", config(name), namespace=other)
    first = await five.list_of("configmaps", limit="2")

    page = await five.list_of("configmaps", namespace=other, **{"continue": first["metadata"]["continue"]})

    assert names(page) == ["c"]


async def test_a_resource_version_with_a_token_is_an_error(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")

    with pytest.raises(BadRequest, match="specifying resource version is not allowed when using continue"):
        await following(five, first, resourceVersion=first["metadata"]["resourceVersion"])


async def test_resource_version_zero_with_a_token_is_allowed(five: Cluster) -> None:
    first = await five.list_of("configmaps", limit="2")

    page = await following(five, first, resourceVersion="0", limit="2")

    # In current servers the watch cache serves resourceVersion 0 and continued lists; it ignores the limit for "0".
    assert names(page) == (["c", "d", "e"] if five.version >= (1, 34) else ["c", "d"])


async def test_a_410_for_a_compacted_token_has_a_token_for_the_rest_of_the_current_list(
    cluster: Cluster, compacted: str
) -> None:
    await cluster.create_crd()
    for name in "abcde":
        await cluster.create("widgets", cluster.widget(name))
    first = await cluster.list_of("widgets", limit="2")
    await cluster.delete("widgets", "c")
    await cluster.create("widgets", cluster.widget("f"))
    old = forged(first["metadata"]["continue"], rv=int(compacted))

    response = await cluster.call("GET", cluster.path("widgets"), params={"continue": old, "limit": "2"})

    assert (response.code, response.body["reason"]) == (410, "Expired")
    assert response.body["message"].startswith(
        "The provided continue parameter is too old to display a consistent list"
    )
    page = await cluster.list_of("widgets", limit="2", **{"continue": response.body["metadata"]["continue"]})
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
async def test_an_invalid_token_is_a_400(five: Cluster, token: str, detail: str) -> None:
    response = await five.call("GET", five.path("configmaps"), params={"continue": token})

    assert (response.code, response.body["reason"]) == (400, "BadRequest")
    assert response.body["message"] == f"invalid continue token: continue key is not valid: {detail}"


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
async def test_a_modified_token_is_a_400(five: Cluster, changes: JSONObject, detail: str) -> None:
    first = await five.list_of("configmaps", limit="2")
    token = forged(first["metadata"]["continue"], **changes)

    with pytest.raises(BadRequest) as caught:
        await five.list_of("configmaps", **{"continue": token})

    assert caught.value.status.message.startswith(f"invalid continue token: continue key is not valid: {detail}")
