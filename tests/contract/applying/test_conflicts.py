"""The conflicts of an apply: field, manager, time, and both values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynkube import Client, ResourceClient, Unstructured
from dynkube.errors import ApplyConflict, FieldConflict
from tests.contract.cluster import Cluster

LABEL = "app.kubernetes.io/name"


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def deployment(**container: Any) -> dict[str, Any]:
    """Return a Deployment with these fields in its container."""
    labels = {LABEL: "web"}
    containers = [{"name": "web", "image": "web:1", **container}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


async def conflict_of(
    resource: ResourceClient, obj: dict[str, Any], manager: str = "me", **options: Any
) -> ApplyConflict:
    with pytest.raises(ApplyConflict) as caught:
        await resource.apply(obj, field_manager=manager, **options)
    return caught.value


def as_tuples(conflicts: tuple[FieldConflict, ...]) -> list[tuple[str, str, str, object, object]]:
    return sorted((each.path, each.manager, each.operation, each.ours, each.live) for each in conflicts)


async def test_each_conflict_has_its_manager_and_both_values(cluster: Cluster, client: Client) -> None:
    maps = client.resource("configmaps")
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await maps.apply(config(a="1", b="1", c="1"), field_manager="applier", **options)
    await maps.patch("a", {"data": {"b": "2"}}, field_manager='an "editor"', **options)

    error = await conflict_of(maps, config(a="3", b="3", c="1"), **options)

    assert as_tuples(error.conflicts) == [
        (".data.a", "applier", "Apply", "3", "1"),
        (".data.b", 'an "editor"', "Update", "3", "2"),
    ]
    assert {each.api_version for each in error.conflicts} == {"v1"}
    assert all(each.time and abs(each.time - datetime.now(UTC)) < timedelta(hours=1) for each in error.conflicts)


@pytest.mark.parametrize("force", [False, [".metadata"]], ids=["plain", "taking less"])
async def test_the_live_value_is_read_from_the_server_even_if_an_older_object_is_passed(
    cluster: Cluster, client: Client, force: Any
) -> None:
    maps = client.resource("configmaps")
    options: dict[str, Any] = {"namespace": cluster.namespace}
    older = await maps.apply(config(a="1"), field_manager="editor", **options)
    await maps.apply(config(a="2"), field_manager="editor", **options)

    error = await conflict_of(maps, config(a="1"), live=older, force=force, **options)

    assert as_tuples(error.conflicts) == [(".data.a", "editor", "Apply", "1", "2")]
    assert 'yours "1", live "2"' in str(error)


async def test_names_with_dots_and_list_items_are_quoted_in_paths(cluster: Cluster, client: Client) -> None:
    deployments = client.resource("deployments")
    live = await deployments.apply(deployment(), namespace=cluster.namespace, field_manager="first")
    changed = deployment(image="web:2")
    changed["spec"]["template"]["metadata"]["labels"] = {LABEL: "other"}

    error = await conflict_of(deployments, changed, namespace=cluster.namespace)

    assert as_tuples(error.conflicts) == [
        ('.spec.template.metadata.labels["app.kubernetes.io/name"]', "first", "Apply", "other", "web"),
        ('.spec.template.spec.containers[name="web"].image', "first", "Apply", "web:2", "web:1"),
    ]
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"


async def test_conflicts_in_one_list_item_have_their_own_paths(cluster: Cluster, client: Client) -> None:
    """v1.20 returns the last path for all of them."""
    deployments = client.resource("deployments")
    first = deployment(args=["a"], workingDir="/a", resources={"limits": {"cpu": "1"}})
    await deployments.apply(first, namespace=cluster.namespace, field_manager="first")
    second = deployment(args=["b"], workingDir="/b", image="web:2", resources={"limits": {"cpu": "2"}})

    error = await conflict_of(deployments, second, namespace=cluster.namespace)

    web = '.spec.template.spec.containers[name="web"]'
    assert as_tuples(error.conflicts) == [
        (f"{web}.args", "first", "Apply", ["b"], ["a"]),
        (f"{web}.image", "first", "Apply", "web:2", "web:1"),
        (f"{web}.resources.limits.cpu", "first", "Apply", "2", "1"),
        (f"{web}.workingDir", "first", "Apply", "/b", "/a"),
    ]


@pytest.mark.since("1.22", "writes through scale owned nothing")
async def test_a_conflict_has_the_subresource_of_its_manager(cluster: Cluster, client: Client) -> None:
    deployments = client.resource("deployments")
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await deployments.apply(deployment(), field_manager="me", **options)
    await deployments.subresource("scale").patch("a", {"spec": {"replicas": 5}}, field_manager="autoscaler", **options)

    (conflict,) = (await conflict_of(deployments, deployment(), **options)).conflicts

    assert (conflict.path, conflict.ours, conflict.live) == (".spec.replicas", 1, 5)
    assert (conflict.manager, conflict.operation, conflict.subresource) == ("autoscaler", "Update", "scale")


async def test_an_apply_to_status_can_conflict(cluster: Cluster, client: Client) -> None:
    deployments = client.resource("deployments")
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await deployments.apply(deployment(), field_manager="me", **options)
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    await deployments.apply({**head, "status": {"replicas": 1}}, field_manager="first", subresource="status", **options)

    error = await conflict_of(deployments, {**head, "status": {"replicas": 2}}, subresource="status", **options)
    forced = await deployments.apply({**head, "status": {"replicas": 2}}, force=True, subresource="status", **options)

    assert as_tuples(error.conflicts) == [(".status.replicas", "first", "Apply", 2, 1)]
    assert (forced["status"]["replicas"], forced.changed) == (2, True)


async def test_conflicts_hide_the_values_of_secrets(cluster: Cluster, client: Client) -> None:
    secrets = client.resource("secrets")
    options: dict[str, Any] = {"namespace": cluster.namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "aHVudGVyMg=="}}
    await secrets.apply(secret, field_manager="first", **options)

    error = await conflict_of(secrets, {**secret, "data": {"password": "c3dvcmRmaXNo"}}, **options)

    assert as_tuples(error.conflicts) == [(".data.password", "first", "Apply", "***", "***")]
    assert not any(value in f"{error}{error.table()}{error._repr_html_()}" for value in ("aHVudGVyMg", "c3dvcmRmaXNo"))


async def test_a_conflict_has_the_api_version_of_its_manager(cluster: Cluster, client: Client) -> None:
    versions = [{**cluster.crd()["spec"]["versions"][0], "name": name} for name in ("v1", "v2")]
    versions[1]["storage"] = False
    await cluster.create_crd(cluster.crd(versions=versions))
    old, new = (client.resource(f"widgets.{name}.{cluster.group}") for name in ("v1", "v2"))
    await old.apply(cluster.widget(spec={"size": 1}), namespace=cluster.namespace, field_manager="old")
    await old.patch("w", {"spec": {"color": "red"}}, namespace=cluster.namespace, field_manager="old")

    wanted = cluster.widget(api_version="v2", spec={"size": 2, "color": "blue"})
    error = await conflict_of(new, wanted, namespace=cluster.namespace)

    assert as_tuples(error.conflicts) == [
        (".spec.color", "old", "Update", "blue", "red"),
        (".spec.size", "old", "Apply", 2, 1),
    ]
    assert {each.api_version for each in error.conflicts} == {f"{cluster.group}/v1"}


async def test_a_409_for_a_stale_resource_version_is_not_an_apply_conflict(cluster: Cluster, client: Client) -> None:
    maps = client.resource("configmaps")
    first = await maps.apply(config(a="1"), namespace=cluster.namespace)
    await maps.apply(config(a="2"), namespace=cluster.namespace)

    stale = Unstructured(config(a="3")).transform(["metadata", "resourceVersion"], first.resource_version)
    with pytest.raises(Exception, match="the object has been modified") as caught:
        await maps.apply(stale, namespace=cluster.namespace)

    assert type(caught.value).__name__ == "Conflict"
