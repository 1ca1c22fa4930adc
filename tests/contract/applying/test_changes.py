"""The result of an apply: created, changed, unchanged or unknown; and invalid input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynkube import Change, Client, fields_of
from dynkube.errors import APIError, BadRequest, InvalidObject
from tests.contract.cluster import Cluster


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


@pytest.mark.parametrize("dry_run", [False, True])
async def test_an_apply_returns_created_changed_or_unchanged(cluster: Cluster, client: Client, dry_run: bool) -> None:
    maps = client.resource("configmaps")
    options: dict[str, Any] = {"namespace": cluster.namespace, "field_manager": "me"}

    created = await maps.apply(config(a="1"), dry_run=dry_run, **options)
    await maps.apply(config(a="1"), **options)
    unchanged = await maps.apply(config(a="1"), dry_run=dry_run, **options)
    changed = await maps.apply(config(a="2"), dry_run=dry_run, **options)

    assert [each.change for each in (created, unchanged, changed)] == [
        Change.CREATED,
        Change.UNCHANGED,
        Change.CHANGED,
    ]
    assert changed["data"] == {"a": "2"}


@pytest.mark.parametrize("dry_run", [False, True])
async def test_becoming_an_owner_of_unchanged_values_is_a_change(
    cluster: Cluster, client: Client, dry_run: bool
) -> None:
    maps = client.resource("configmaps")
    await maps.apply(config(a="1"), namespace=cluster.namespace, field_manager="first")

    second = await maps.apply(config(a="1"), namespace=cluster.namespace, field_manager="second", dry_run=dry_run)

    assert second.change is Change.CHANGED


async def test_applying_an_object_that_was_read_is_an_error_even_without_managed_fields(
    cluster: Cluster, client: Client
) -> None:
    maps = client.resource("configmaps")
    await maps.apply(config(a="1"), namespace=cluster.namespace, field_manager="other")
    hidden = (await maps.get("a", namespace=cluster.namespace)).to_dict()
    del hidden["metadata"]["managedFields"]

    with pytest.raises(InvalidObject, match=r"metadata\.uid and metadata\.creationTimestamp, so it was read"):
        await maps.apply(hidden, field_manager="me")
    report = await client.apply_all([hidden], field_manager="me")

    assert [entry.outcome for entry in report] == ["failed"]
    assert not fields_of(await maps.get("a", namespace=cluster.namespace), "me")


async def test_without_permission_to_read_the_change_is_unknown(
    cluster: Cluster, client: Client, connect: Callable[..., Client]
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "create"]}]
    await client.resource("roles").create(
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "w"}, "rules": rules},
        namespace=cluster.namespace,
    )
    user = f"writer-{cluster.namespace}"
    subjects = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
    ref = {"kind": "Role", "name": "w", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "w"}}
    await client.resource("rolebindings").create(
        {**binding, "subjects": subjects, "roleRef": ref}, namespace=cluster.namespace
    )
    await cluster.until(lambda: _may_patch(cluster.acting_as(user)))

    async with connect(user=user) as writer:
        maps = writer.resource("configmaps")
        created = await maps.apply(config(a="1"), namespace=cluster.namespace)
        again = await maps.apply(config(a="1"), namespace=cluster.namespace)
        with pytest.raises(Exception, match=r'\.data\.a: yours "2", owned by "dynkube" \(Apply\)'):
            await maps.apply(config(a="2"), namespace=cluster.namespace, field_manager="other")

    assert [created.change, again.change] == [Change.CREATED, Change.UNKNOWN]
    assert again.changed


async def _may_patch(cluster: Cluster) -> bool:
    response = await cluster.call(
        "PATCH", cluster.path("configmaps", "probe"), body="{}", content_type="application/merge-patch+json"
    )
    return response.code == 404


@pytest.mark.since("1.22", "fields written through scale had no owner")
async def test_an_apply_to_scale_takes_a_scale(cluster: Cluster, client: Client) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await cluster.create(
        "deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}
    )
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    options: dict[str, Any] = {"namespace": cluster.namespace, "field_manager": "me", "subresource": "scale"}

    applied = await client.resource("deployments").apply(scale, force=True, **options)
    again = await client.resource("deployments").apply(scale, **options)

    assert (applied.kind, applied["spec"]["replicas"]) == ("Scale", 3)
    assert (applied.change, again.change) == (Change.CHANGED, Change.UNCHANGED)


@pytest.mark.parametrize("field_validation", [None, "Ignore", "Warn", "Strict"])
async def test_an_unknown_field_is_an_error_with_any_field_validation(
    cluster: Cluster, client: Client, field_validation: Any
) -> None:
    unknown = {**config(a="1"), "dota": {"a": "1"}}

    with pytest.raises(APIError, match="field not declared in schema"):
        await client.resource("configmaps").apply(
            unknown, namespace=cluster.namespace, field_validation=field_validation
        )


@pytest.mark.since("1.25", "field validation came with 1.25")
async def test_repeated_keys_are_an_error_only_with_strict_field_validation(cluster: Cluster, client: Client) -> None:
    maps = client.resource("configmaps")
    twice = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "a": "2"}}'

    with pytest.raises(BadRequest, match='key "a" already set'):
        await maps.apply(twice, namespace=cluster.namespace, field_validation="Strict")
    applied = await maps.apply(twice, namespace=cluster.namespace, field_validation="Ignore")

    assert applied["data"] == {"a": "2"}
