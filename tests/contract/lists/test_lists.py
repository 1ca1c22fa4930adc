"""The contents and the order of lists; reading one object."""

from __future__ import annotations

import pytest

from dynkube.errors import NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import config


async def test_a_list_is_ordered_by_name(cluster: Cluster) -> None:
    for name in ("z", "a-b", "a", "a.b", "a0"):
        await cluster.create("configmaps", config(name))

    assert await cluster.names("configmaps") == ["a", "a-b", "a.b", "a0", "z"]


async def test_a_list_of_all_namespaces_is_ordered_by_namespace_as_stored(cluster: Cluster) -> None:
    other = f"{cluster.namespace}-b"
    await cluster.create("namespaces", {"metadata": {"name": other}})
    mine = {"of": cluster.namespace}
    for namespace, name in ((None, "z"), (other, "a"), (None, "a")):
        await cluster.create("configmaps", config(name, labels=mine), namespace=namespace)

    found = await cluster.list_of("configmaps", namespace="", labelSelector=f"of={cluster.namespace}")

    # etcd's keys are compared as strings, and '-' is less than '/'.
    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in found["items"]]
    assert places == [(other, "a"), (cluster.namespace, "a"), (cluster.namespace, "z")]


async def test_only_items_of_custom_resources_have_kind_and_api_version(cluster: Cluster) -> None:
    await cluster.create_crd()
    await cluster.create("configmaps", config())
    await cluster.create("widgets", cluster.widget())

    builtin, custom = await cluster.list_of("configmaps"), await cluster.list_of("widgets")

    assert (builtin["kind"], builtin["apiVersion"]) == ("ConfigMapList", "v1")
    assert not {"kind", "apiVersion"} & set(builtin["items"][0])
    assert (custom["kind"], custom["apiVersion"]) == ("WidgetList", f"{cluster.group}/v1")
    assert (custom["items"][0]["kind"], custom["items"][0]["apiVersion"]) == ("Widget", f"{cluster.group}/v1")


async def test_an_empty_list_has_items_and_a_version(cluster: Cluster) -> None:
    found = await cluster.list_of("configmaps")

    assert found["items"] == []
    assert set(found["metadata"]) == {"resourceVersion"}
    assert int(found["metadata"]["resourceVersion"]) > 0


async def test_lists_of_custom_resources_have_an_empty_continue_token(cluster: Cluster) -> None:
    await cluster.create_crd()

    found = await cluster.list_of("widgets")

    assert found["metadata"]["continue"] == ""


async def test_a_list_in_a_namespace_that_does_not_exist_is_empty(cluster: Cluster) -> None:
    assert await cluster.names("configmaps", namespace=f"no-{cluster.namespace}") == []


async def test_the_version_of_a_list_is_not_older_than_the_latest_write(cluster: Cluster) -> None:
    written = await cluster.create("configmaps", config())

    found = await cluster.list_of("configmaps")

    assert int(found["metadata"]["resourceVersion"]) >= int(written["metadata"]["resourceVersion"])
    assert found["items"][0] == {key: written[key] for key in ("metadata", "data")}


async def test_unknown_parameters_are_ignored(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    found = await cluster.names("configmaps", allowWatchBookmarks="maybe", watch="0", unheard="of", timeoutSeconds="0")

    assert found == ["a"]


async def test_one_object_is_read_by_its_name(cluster: Cluster) -> None:
    written = await cluster.create("configmaps", config())

    assert await cluster.get("configmaps", "a") == written
    assert await cluster.get("configmaps", "a", params={"labelSelector": "a=b", "fieldSelector": "x=y"}) == written


async def test_a_404_has_the_name_and_the_resource(cluster: Cluster) -> None:
    await cluster.create_crd()

    for resource, shown_name in (("configmaps", "configmaps"), ("widgets", f"widgets.{cluster.group}")):
        with pytest.raises(NotFound) as caught:
            await cluster.get(resource, "none")
        status = caught.value.status
        assert (status.code, status.reason, status.message) == (404, "NotFound", f'{shown_name} "none" not found')
        assert (status.name, status.kind) == ("none", resource)
        assert status.group == ("" if resource == "configmaps" else cluster.group)
