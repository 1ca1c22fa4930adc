"""``diff_applied``: differences between an applied configuration and the live object (drift)."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import MISSING, Client, Diff, drop_managed_fields
from dynkube.errors import InvalidInput
from tests.contract.cluster import Cluster


def deployment(**container: Any) -> dict[str, Any]:
    containers = [{"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1000m"}}, **container}]
    containers[0]["ports"] = [{"containerPort": 80, "name": "http"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": spec,
    }


def as_tuples(diff: Diff) -> list[tuple[str, Any, Any, list[str]]]:
    return sorted(
        (str(each.path), each.before, each.after, [manager.name for manager in each.managers]) for each in diff.changes
    )


@pytest.fixture
async def options(cluster: Cluster, client: Client) -> dict[str, Any]:
    """The namespace, in which ``me`` has applied the Deployment."""
    await client.resource("deployments").apply(deployment(), namespace=cluster.namespace, field_manager="me")
    return {"namespace": cluster.namespace}


async def test_fields_that_are_not_in_the_configuration_are_no_drift(client: Client, options: dict[str, Any]) -> None:
    deployments = client.resource("deployments")
    more = {"metadata": {"labels": {"more": "1"}}, "spec": {"minReadySeconds": 3}}
    await deployments.patch("a", more, field_manager="editor", **options)

    assert not await deployments.diff_applied(deployment(), "me", **options)


async def test_drift_has_the_managers_that_changed_or_removed_fields(client: Client, options: dict[str, Any]) -> None:
    deployments = client.resource("deployments")
    container = {"name": "web", "image": "web:2", "ports": [{"containerPort": 80, "name": "other"}]}
    change = {"spec": {"replicas": 5, "template": {"spec": {"containers": [container]}}}}
    await deployments.patch("a", change, patch_type="strategic", field_manager="editor", **options)
    await deployments.patch("a", {"metadata": {"labels": {"x": None}}}, field_manager="editor", **options)

    drift = await deployments.diff_applied(deployment(), "me", **options)

    web = '.spec.template.spec.containers[name="web"]'
    assert as_tuples(drift) == [
        (".metadata.labels.x", "y", MISSING, []),
        (".spec.replicas", 1, 5, ["editor"]),
        (f"{web}.image", "web:1", "web:2", ["editor"]),
        (f'{web}.ports[containerPort=80,protocol="TCP"].name', "http", "other", ["editor"]),
    ]
    assert drift.names == ("applied", "live")
    assert "-  replicas: 1" in str(drift)
    assert "+  replicas: 5" in str(drift)


async def test_a_live_object_can_be_passed_with_or_without_managed_fields(
    client: Client, options: dict[str, Any]
) -> None:
    deployments = client.resource("deployments")
    await deployments.patch("a", {"spec": {"replicas": 5}}, **options)
    live = await deployments.get("a", **options)

    owned = await deployments.diff_applied(deployment(), "me", live=live, **options)
    bare = await deployments.diff_applied(deployment(), "me", live=drop_managed_fields(live), **options)

    assert as_tuples(owned) == as_tuples(bare) == [(".spec.replicas", 1, 5, ["dynkube"])]
    with pytest.raises(InvalidInput, match=r"live is <Deployment .*/other rv=.*>, not <"):
        await deployments.diff_applied(deployment(), live=live.transform(["metadata", "name"], "other"), **options)


async def test_all_fields_of_a_deleted_object_are_drift(client: Client, options: dict[str, Any]) -> None:
    deployments = client.resource("deployments")
    obj = {**deployment(), "metadata": {"name": "gone", "labels": {"x": "y"}}}

    drift = await deployments.diff_applied(obj, "me", **options)

    assert drift.after is None
    assert (".metadata.labels.x", "y", MISSING, []) in as_tuples(drift)


def object_of(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "a", "creationTimestamp": None, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


@pytest.mark.parametrize(
    ("resource", "obj"),
    [
        ("secrets", object_of("v1", "Secret", data={"a": "eA=="}, stringData={"b": "y"})),
        ("deployments", {**deployment(), "status": {"replicas": 7, "conditions": []}}),
        ("resourcequotas", object_of("v1", "ResourceQuota", spec={"hard": {"cpu": "1000m", "memory": "0.5Gi"}})),
        (
            "services",
            object_of("v1", "Service", spec={"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}),
        ),
        (
            "leases",
            object_of("coordination.k8s.io/v1", "Lease", spec={"renewTime": "2026-01-02T05:04:05.100000+02:00"}),
        ),
        ("configmaps", object_of("v1", "ConfigMap", data={"a": "1", "b": None}, metadata={"annotations": None})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("manager", ["me", "other"])
async def test_what_the_server_stores_in_another_form_is_no_drift(
    cluster: Cluster, client: Client, resource: str, obj: dict[str, Any], manager: str
) -> None:
    verbs = client.resource(resource)
    where: dict[str, Any] = {"namespace": cluster.namespace}
    await verbs.apply(obj, field_manager="me", **where)

    assert not await verbs.diff_applied(obj, manager, **where)


@pytest.mark.parametrize("changed", ["d3Jvbmc=", None])
async def test_a_changed_or_removed_string_of_a_secret_is_drift(
    cluster: Cluster, client: Client, changed: str | None
) -> None:
    secrets = client.resource("secrets")
    where: dict[str, Any] = {"namespace": cluster.namespace}
    secret = object_of("v1", "Secret", stringData={"p": "right", "q": "other"})
    await secrets.apply(secret, field_manager="me", **where)
    await secrets.patch("a", {"data": {"p": changed}}, field_manager="editor", **where)

    drift = await secrets.diff_applied(secret, "me", **where)

    assert [str(each.path) for each in drift.changes] == [".data.p"]
    assert "right" not in f"{drift}{drift.table()}{drift.changes}"


async def test_an_edited_configuration_is_no_drift_of_the_live_object(client: Client, options: dict[str, Any]) -> None:
    """Only ``diff`` shows it: the manager still owns what it applied."""
    edited = deployment(image="web:2")
    del edited["metadata"]["labels"]

    drift = await client.resource("deployments").diff_applied(edited, "me", **options)

    assert not drift
    assert "web:2" not in str(drift)


async def test_removed_fields_are_drift_after_a_migration_of_managed_fields(client: Client, cluster: Cluster) -> None:
    deployments = client.resource("deployments")
    where: dict[str, Any] = {"namespace": cluster.namespace}
    await deployments.create(deployment(), field_manager="kubectl-client-side-apply", **where)
    await deployments.upgrade_managed_fields("a", "me", "kubectl-client-side-apply", **where)
    before = await deployments.diff_applied(deployment(), "me", **where)

    await deployments.patch("a", {"metadata": {"labels": {"x": None, "z": "1"}}}, field_manager="editor", **where)

    assert not before
    changed = await deployments.diff_applied(deployment(), "me", **where)
    assert as_tuples(changed) == [(".metadata.labels.x", "y", MISSING, [])]
