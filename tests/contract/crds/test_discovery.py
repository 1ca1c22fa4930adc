"""CRDs in discovery and OpenAPI, until they are deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.cluster import AGGREGATED, Cluster
from tests.contract.objects import CRDS, JSONObject, structural, version

VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


async def _found(cluster: Cluster, path: str) -> JSONObject:
    """Wait for the document at a path: a real server creates it shortly after the CRD is served."""

    async def there() -> bool:
        return (await cluster.call("GET", path)).code == 200

    await cluster.until(there)
    return await cluster.request("GET", path)


async def _lists_group(cluster: Cluster) -> bool:
    found = await cluster.request("GET", "/apis")
    return cluster.group in {group["name"] for group in found["groups"]}


async def test_a_version_lists_its_resource_with_all_of_its_names(cluster: Cluster) -> None:
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd", "wdg"], "categories": ["all", "mine"]}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    served = version(subresources={"status": {}, "scale": scale})
    await cluster.create_crd(cluster.crd(names=names, versions=[served]))

    found = await _found(cluster, f"/apis/{cluster.group}/v1")

    for resource in found["resources"]:
        resource.pop("storageVersionHash", None)
    widgets: dict[str, Any] = {"namespaced": True, "kind": "Widget"}
    below = {**widgets, "singularName": "", "verbs": ["get", "patch", "update"]}
    own = {"shortNames": ["wd", "wdg"], "categories": ["all", "mine"]}
    assert (found["kind"], found["apiVersion"]) == ("APIResourceList", "v1")
    assert found["groupVersion"] == f"{cluster.group}/v1"
    assert found["resources"] == [
        {**widgets, **own, "name": "widgets", "singularName": "widget", "verbs": VERBS},
        {**below, "name": "widgets/status"},
        {**below, "name": "widgets/scale", "group": "autoscaling", "version": "v1", "kind": "Scale"},
    ]


async def test_versions_are_sorted_by_stability_and_the_first_is_preferred(cluster: Cluster) -> None:
    names = ["v1alpha1", "v10beta3", "v2", "v3beta1", "v11alpha2", "foo1", "v10", "v1", "foo10", "v12alpha1"]
    versions = [version(name, storage=name == "v1alpha1") for name in names]
    await cluster.create_crd(cluster.crd(versions=[*versions, version("v20", storage=False, served=False)]))

    found = await _found(cluster, f"/apis/{cluster.group}")

    ordered = [entry["version"] for entry in found["versions"]]
    assert ordered == ["v10", "v2", "v1", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha1", "foo1", "foo10"]
    assert found["preferredVersion"] == {"groupVersion": f"{cluster.group}/v10", "version": "v10"}


async def test_discovery_shows_new_short_names(cluster: Cluster) -> None:
    defined = await cluster.create_crd()
    await cluster.patch(CRDS, defined["metadata"]["name"], {"spec": {"names": {"shortNames": ["wd"]}}})

    async def is_listed() -> bool:
        found = await _found(cluster, f"/apis/{cluster.group}/v1")
        return bool(found["resources"][0].get("shortNames") == ["wd"])

    await cluster.until(is_listed)


async def test_a_version_that_is_no_longer_served_is_no_longer_listed(cluster: Cluster) -> None:
    defined = await cluster.create_crd(cluster.crd(versions=[version("v1"), version("v2", storage=False)]))
    await _found(cluster, f"/apis/{cluster.group}/v2")

    patch = {"spec": {"versions": [version("v1"), version("v2", storage=False, served=False)]}}
    await cluster.patch(CRDS, defined["metadata"]["name"], patch)

    async def alone() -> bool:
        found = await cluster.request("GET", f"/apis/{cluster.group}")
        return [entry["version"] for entry in found["versions"]] == ["v1"]

    await cluster.until(alone)
    assert (await cluster.call("GET", f"/apis/{cluster.group}/v2")).code == 404


async def test_a_group_is_listed_until_its_last_crd_is_deleted(cluster: Cluster) -> None:
    first = await cluster.create_crd()
    second = await cluster.create_crd(cluster.crd("gadgets", "Gadget"))
    await cluster.until(lambda: _lists_group(cluster))

    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, first["metadata"]["name"]))

    async def gadgets_alone() -> bool:
        found = await cluster.request("GET", f"/apis/{cluster.group}/v1")
        return [resource["name"] for resource in found["resources"]] == ["gadgets"]

    await cluster.until(gadgets_alone)
    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, second["metadata"]["name"]))

    async def not_listed() -> bool:
        return (await cluster.call("GET", f"/apis/{cluster.group}")).code == 404 and not await _lists_group(cluster)

    await cluster.until(not_listed)
    response = await cluster.call("GET", f"/apis/{cluster.group}/v1")
    assert (response.code, response.body) == (404, "404 page not found\n")


async def _aggregated(cluster: Cluster) -> list[JSONObject]:
    """Return the resources of the test's group in aggregated discovery."""
    found = await cluster.request("GET", "/apis", headers={"Accept": AGGREGATED})
    groups = [group for group in found["items"] if group["metadata"]["name"] == cluster.group]
    return [resource for group in groups for entry in group["versions"] for resource in entry["resources"]]


@pytest.mark.since("1.30", "aggregated discovery is v2 since 1.30")
async def test_aggregated_discovery_has_a_resource_until_its_crd_is_deleted(cluster: Cluster) -> None:
    defined = await cluster.create_crd()

    async def there() -> bool:
        return bool(await _aggregated(cluster))

    await cluster.until(there)
    (widgets,) = await _aggregated(cluster)
    assert widgets == {
        "resource": "widgets",
        "responseKind": {"group": cluster.group, "version": "v1", "kind": "Widget"},
        "scope": "Namespaced",
        "singularResource": "widget",
        "verbs": VERBS,
    }
    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, defined["metadata"]["name"]))

    async def not_listed() -> bool:
        return not await there()

    await cluster.until(not_listed)


@pytest.mark.since("1.27", "there was no OpenAPI v3")
async def test_openapi_has_the_schema_until_the_crd_is_deleted(cluster: Cluster) -> None:
    served = version(schema=structural(size={"type": "integer", "description": "How large."}))
    defined = await cluster.create_crd(cluster.crd(versions=[served]))
    place = f"apis/{cluster.group}/v1"

    async def listed() -> bool:
        index = await cluster.call("GET", "/openapi/v3")  # its media type is not JSON, so it is not decoded
        return place in json.loads(index.body)["paths"]

    await cluster.until(listed)
    document = await cluster.request("GET", f"/openapi/v3/{place}")
    (schema,) = [found for name, found in document["components"]["schemas"].items() if name.endswith(".v1.Widget")]
    assert schema["properties"]["spec"]["properties"]["size"] == {"type": "integer", "description": "How large."}
    assert f"/apis/{cluster.group}/v1/namespaces/{{namespace}}/widgets/{{name}}" in document["paths"]

    await cluster.wait_gone(CRDS, await cluster.delete(CRDS, defined["metadata"]["name"]))

    async def not_listed() -> bool:
        return not await listed()

    await cluster.until(not_listed)
