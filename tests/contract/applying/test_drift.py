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

    assert as_tuples(owned) == [(".spec.replicas", 1, 5, ["dynkube"])]
    cpu: Any = (".spec.template.spec.containers[0].resources.limits.cpu", "1000m", "1", [])
    assert as_tuples(bare) == [(".spec.replicas", 1, 5, []), cpu]  # the server normalizes quantities
    with pytest.raises(InvalidInput, match=r"live is <Deployment .*/other rv=.*>, not <"):
        await deployments.diff_applied(deployment(), live=live.transform(["metadata", "name"], "other"), **options)


async def test_all_fields_of_a_deleted_object_are_drift(client: Client, options: dict[str, Any]) -> None:
    deployments = client.resource("deployments")
    obj = {**deployment(), "metadata": {"name": "gone", "labels": {"x": "y"}}}

    drift = await deployments.diff_applied(obj, "me", **options)

    assert drift.after is None
    assert (".metadata.labels.x", "y", MISSING, []) in as_tuples(drift)


async def test_write_only_fields_are_no_drift(cluster: Cluster, client: Client) -> None:
    """The server never returns the stringData of a Secret."""
    secrets, namespace = client.resource("secrets"), cluster.namespace
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"p": "one"}}
    await secrets.apply(secret, namespace=namespace, field_manager="me")

    assert not await secrets.diff_applied(secret, "me", namespace=namespace)


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
