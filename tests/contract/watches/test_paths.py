"""The deprecated paths of watches, below ``watch/``."""

from __future__ import annotations

import pytest

from dynkube.errors import APIError, Forbidden
from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import config


@pytest.mark.parametrize("params", [{}, {"watch": "0"}, {"watch": "1"}])
async def test_the_path_opens_a_watch_with_any_value_of_the_parameter(three: Cluster, params: dict[str, str]) -> None:
    async with three.stream(old_path(three, "configmaps"), params) as events:
        await three.create("configmaps", config("z"))
        shown = types_and_names(await events.until("z"))

    assert sorted(shown) == [("ADDED", name) for name in "abcz"]


async def test_one_object_can_be_watched_by_its_path(three: Cluster) -> None:
    async with three.stream(old_path(three, "configmaps", "b"), {"timeoutSeconds": "1"}) as events:
        await three.patch("configmaps", "a", {"data": {"k": "w"}})
        await three.delete("configmaps", "b")

        assert types_and_names(await events.rest()) == [("ADDED", "b"), ("DELETED", "b")]


async def test_a_namespace_can_be_watched_by_its_path(cluster: Cluster) -> None:
    async with cluster.stream(f"/api/v1/watch/namespaces/{cluster.namespace}", {}) as events:
        assert types_and_names(await events.take(1)) == [("ADDED", cluster.namespace)]


async def test_selectors_and_resource_version_can_be_used_with_these_paths(cluster: Cluster) -> None:
    await cluster.create("configmaps", config("a", labels={"color": "red"}))
    await cluster.create("configmaps", config("b", labels={"color": "blue"}))
    last = await cluster.create("configmaps", config("c", labels={"color": "red"}))
    params = {"labelSelector": "color=red"}
    behind = {**params, "resourceVersion": last["metadata"]["resourceVersion"]}
    path = old_path(cluster, "configmaps")

    async with cluster.stream(path, params) as events, cluster.stream(path, behind) as later:
        await cluster.create("configmaps", config("z", labels={"color": "red"}))

        assert sorted(types_and_names(await events.until("z"))) == [("ADDED", "a"), ("ADDED", "c"), ("ADDED", "z")]
        assert types_and_names(await later.until("z")) == [("ADDED", "z")]


async def test_custom_resources_have_these_paths(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget())
    path = cluster.path("widgets", "w").replace("/v1/", "/v1/watch/")

    async with cluster.stream(path, {}) as events:
        await cluster.delete("widgets", "w")

        assert types_and_names(await events.take(2)) == [("ADDED", "w"), ("DELETED", "w")]


async def test_there_is_no_bookmark_after_the_initial_events(three: Cluster) -> None:
    params = {"allowWatchBookmarks": "true", "timeoutSeconds": "1"}

    async with three.stream(old_path(three, "configmaps"), params) as events:
        assert {event["type"] for event in await events.rest()} == {"ADDED"}


@pytest.mark.parametrize(
    ("name", "params", "code", "message"),
    [
        ("a", {"fieldSelector": "metadata.name=b"}, 400, "fieldSelector metadata.name doesn't match requested name"),
        ("", {"resourceVersionMatch": "NotOlderThan"}, 422, "is forbidden unless resourceVersion is provided"),
        ("", {"resourceVersion": "x"}, 500, 'strconv.ParseUint: parsing "x": invalid syntax'),
        ("", {"labelSelector": "a b"}, 400, "unable to parse requirement: found 'b'"),
    ],
)
async def test_invalid_parameters_are_an_error(
    cluster: Cluster, name: str, params: dict[str, str], code: int, message: str
) -> None:
    with pytest.raises(APIError) as caught:
        await cluster.request("GET", old_path(cluster, "configmaps", name), params=params)

    assert caught.value.code == code
    assert message in caught.value.status.message


async def test_a_field_selector_can_repeat_the_name_in_the_path(three: Cluster) -> None:
    async with three.stream(old_path(three, "configmaps", "b"), {"fieldSelector": "metadata.name=b"}) as events:
        assert types_and_names(await events.take(1)) == [("ADDED", "b")]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/watch/unicorns", 404),
        ("GET", "/api/v1/watch/namespaces/{namespace}/nodes", 404),
        ("GET", "/api/v1/watch/namespaces/{namespace}/pods/p/status", 404),
        ("GET", "/api/v1/watch/bindings", 404),
        ("POST", "/api/v1/watch/namespaces/{namespace}/configmaps", 405),
        ("DELETE", "/api/v1/watch/namespaces/{namespace}/configmaps/a", 405),
        ("HEAD", "/api/v1/watch/configmaps", 405),
        ("OPTIONS", "/api/v1/watch/configmaps", 405),
    ],
)
async def test_other_paths_and_methods_are_an_error(cluster: Cluster, method: str, path: str, code: int) -> None:
    response = await cluster.http.request(method, path.format(namespace=cluster.namespace))

    assert response.status_code == code


async def test_these_paths_require_permission_to_watch(cluster: Cluster) -> None:
    with pytest.raises(Forbidden, match='cannot watch resource "configmaps" in API group "" in the namespace'):
        await cluster.acting_as("nobody").request("GET", old_path(cluster, "configmaps"))


def old_path(cluster: Cluster, resource: str, name: str = "") -> str:
    return cluster.path(resource, name).replace("/api/v1/", "/api/v1/watch/")
