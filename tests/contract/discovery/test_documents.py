"""Discovery of built-in resources and CRDs, in both forms: unaggregated (legacy) and aggregated."""

from __future__ import annotations

import pytest

from tests.contract.cluster import AGGREGATED, Cluster
from tests.contract.objects import JSONObject, version

since_aggregated = pytest.mark.since("1.30", "aggregated discovery is v2 since 1.30")


async def legacy(cluster: Cluster, group_version: str) -> dict[str, JSONObject]:
    """Return the resources of a group version by name, from unaggregated discovery."""
    path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    document = await cluster.request("GET", path)
    assert (document["kind"], document["groupVersion"]) == ("APIResourceList", group_version)
    return {entry["name"]: entry for entry in document["resources"]}


async def aggregated(cluster: Cluster, group: str) -> JSONObject:
    """Return a group from aggregated discovery."""
    document = await cluster.request("GET", "/apis" if group else "/api", headers={"Accept": AGGREGATED})
    found: JSONObject = next(item for item in document["items"] if item["metadata"].get("name", "") == group)
    return found


async def test_the_core_group_is_a_list_of_versions(cluster: Cluster) -> None:
    document = await cluster.request("GET", "/api")

    assert (document["kind"], document["versions"]) == ("APIVersions", ["v1"])


async def test_groups_have_their_versions_and_the_preferred_one(cluster: Cluster) -> None:
    document = await cluster.request("GET", "/apis")

    groups = {group["name"]: group for group in document["groups"]}
    assert (document["kind"], document["apiVersion"]) == ("APIGroupList", "v1")
    assert groups["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert {"groupVersion": "batch/v1", "version": "v1"} in groups["batch"]["versions"]
    names = [group["name"] for group in document["groups"]]
    assert names[:2] == ["apiregistration.k8s.io", "apps"]


async def test_a_single_group_is_equal_to_that_in_the_list(cluster: Cluster) -> None:
    listed = (await cluster.request("GET", "/apis"))["groups"]

    alone = await cluster.request("GET", "/apis/apps")

    assert alone == {"kind": "APIGroup", "apiVersion": "v1", **next(g for g in listed if g["name"] == "apps")}


@pytest.mark.parametrize(
    ("group_version", "resource", "expected"),
    [
        ("v1", "pods", {"kind": "Pod", "namespaced": True, "shortNames": ["po"], "categories": ["all"]}),
        ("v1", "namespaces", {"kind": "Namespace", "namespaced": False, "shortNames": ["ns"]}),
        ("v1", "pods/log", {"kind": "Pod", "namespaced": True, "verbs": ["get"]}),
        ("v1", "bindings", {"kind": "Binding", "verbs": ["create"]}),
        ("apps/v1", "deployments", {"kind": "Deployment", "shortNames": ["deploy"], "categories": ["all"]}),
        (
            "apps/v1",
            "deployments/scale",
            {"group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"]},
        ),
    ],
)
async def test_a_resource_has_kind_scope_short_names_and_categories(
    cluster: Cluster, group_version: str, resource: str, expected: JSONObject
) -> None:
    found = (await legacy(cluster, group_version))[resource]

    assert {name: found[name] for name in expected} == expected
    # Current servers set the singular name, except for subresources.
    singular = expected["kind"].lower() if "/" not in resource and cluster.version >= (1, 27) else ""
    assert found["singularName"] == singular


async def test_the_verbs_of_built_in_kinds_are_sorted(cluster: Cluster) -> None:
    pods = (await legacy(cluster, "v1"))["pods"]

    assert pods["verbs"] == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


async def test_subresources_follow_their_resource(cluster: Cluster) -> None:
    names = list(await legacy(cluster, "apps/v1"))

    place = names.index("deployments")
    assert names[place : place + 3] == ["deployments", "deployments/scale", "deployments/status"]


async def test_only_the_list_of_the_core_group_has_no_api_version(cluster: Cluster) -> None:
    core, apps = await cluster.request("GET", "/api/v1"), await cluster.request("GET", "/apis/apps/v1")

    assert list(core) == ["kind", "groupVersion", "resources"]
    assert list(apps) == ["kind", "apiVersion", "groupVersion", "resources"]


@pytest.mark.parametrize(
    ("group_version", "resource", "expected"),
    [
        ("v1", "configmaps", "qFsyl6wFWjQ="),
        ("apps/v1", "deployments", "8aSe+NMegvE="),
        ("apiextensions.k8s.io/v1", "customresourcedefinitions", "jfWCUB31mvA="),
        ("v1", "componentstatuses", None),
        ("authorization.k8s.io/v1", "subjectaccessreviews", None),
    ],
)
async def test_a_stored_resource_has_a_storage_version_hash(
    cluster: Cluster, group_version: str, resource: str, expected: str | None
) -> None:
    assert (await legacy(cluster, group_version))[resource].get("storageVersionHash") == expected


async def test_a_crd_adds_its_group_version_and_resources(cluster: Cluster) -> None:
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "shortNames": ["wdg"], "categories": ["all"]}
    await cluster.create_crd(cluster.crd(names=names, versions=[version(subresources={"status": {}})]))

    found = await legacy(cluster, f"{cluster.group}/v1")

    assert list(found) == ["widgets", "widgets/status"]
    widgets = found["widgets"]
    assert (widgets["singularName"], widgets["shortNames"], widgets["categories"]) == ("widget", ["wdg"], ["all"])
    assert widgets["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    assert widgets["storageVersionHash"]
    assert found["widgets/status"]["verbs"] == ["get", "patch", "update"]


async def test_versions_are_sorted_by_priority_and_the_first_is_preferred(cluster: Cluster) -> None:
    entries = [version(name, storage=name == "v1") for name in ("v1alpha1", "v1", "v2beta1", "v10", "v2", "other")]
    await cluster.create_crd(cluster.crd(versions=entries))

    document = await cluster.request("GET", f"/apis/{cluster.group}")

    assert [entry["version"] for entry in document["versions"]] == ["v10", "v2", "v1", "v2beta1", "v1alpha1", "other"]
    assert document["preferredVersion"] == {"groupVersion": f"{cluster.group}/v10", "version": "v10"}


async def test_all_versions_of_a_crd_have_the_same_storage_version_hash(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))

    first, second = [(await legacy(cluster, f"{cluster.group}/{name}"))["widgets"] for name in ("v1", "v2")]

    assert first["storageVersionHash"] == second["storageVersionHash"]


async def test_a_version_that_is_not_served_is_not_listed(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False, served=False)]))

    document = await cluster.request("GET", f"/apis/{cluster.group}")

    assert [entry["version"] for entry in document["versions"]] == ["v1"]
    assert (await cluster.call("GET", f"/apis/{cluster.group}/v2")).code == 404


@since_aggregated
async def test_the_aggregated_core_group_has_no_name(cluster: Cluster) -> None:
    group = await aggregated(cluster, "")

    pods = next(each for each in group["versions"][0]["resources"] if each["resource"] == "pods")
    assert group["metadata"] == {}
    assert pods["responseKind"] == {"group": "", "version": "", "kind": "Pod"}
    assert (pods["scope"], pods["singularResource"], pods["shortNames"]) == ("Namespaced", "pod", ["po"])


@since_aggregated
async def test_subresources_are_part_of_their_resource_in_the_aggregated_form(cluster: Cluster) -> None:
    apps = await aggregated(cluster, "apps")

    deployments = next(each for each in apps["versions"][0]["resources"] if each["resource"] == "deployments")
    kinds = {each["subresource"]: each["responseKind"]["kind"] for each in deployments["subresources"]}
    assert kinds == {"scale": "Scale", "status": "Deployment"}


@since_aggregated
@pytest.mark.parametrize("group", ["apps", "rbac.authorization.k8s.io"])
async def test_both_forms_show_the_same_resources_of_a_group(cluster: Cluster, group: str) -> None:
    (only,) = (await aggregated(cluster, group))["versions"]
    found = await legacy(cluster, f"{group}/{only['version']}")

    shown = {each["resource"]: each["verbs"] for each in only["resources"]}
    assert shown == {name: each["verbs"] for name, each in found.items() if "/" not in name}
    assert only["freshness"] == "Current"
