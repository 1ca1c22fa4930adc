"""Releasing, transferring and migrating the ownership of fields: values stay, and the next applies obey it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynkube import Change, Client, ResourceClient, Unstructured, fields_of
from dynkube.errors import ApplyConflict, InvalidInput, NotFound
from tests.contract.cluster import Cluster

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def owned(obj: Unstructured, manager: str) -> set[str]:
    return {str(path) for path in fields_of(obj, manager).leaves()}


@pytest.fixture
def maps(client: Client) -> ResourceClient:
    return client.resource("configmaps")


@pytest.fixture
async def where(cluster: Cluster, maps: ResourceClient) -> dict[str, Any]:
    """The namespace, in which ``first`` has applied an object with two fields."""
    await maps.apply(config(a="1", b="1"), namespace=cluster.namespace, field_manager="first")
    return {"namespace": cluster.namespace}


async def test_a_released_field_stays_and_has_no_owner(maps: ResourceClient, where: dict[str, Any]) -> None:
    released = await maps.release_fields("a", [".data.a"], "first", **where)

    assert (released["data"], released.change) == ({"a": "1", "b": "1"}, Change.CHANGED)
    assert owned(released, "first") == {".data.b"}
    await maps.apply(config(b="1"), field_manager="first", **where)
    taken = await maps.apply(config(a="2"), field_manager="second", **where)
    assert taken["data"] == {"a": "2", "b": "1"}


async def test_the_new_owner_applies_a_transferred_field_without_conflict(
    maps: ResourceClient, where: dict[str, Any]
) -> None:
    with pytest.raises(ApplyConflict):
        await maps.apply(config(a="2"), field_manager="second", **where)

    transferred = await maps.transfer_fields("a", "first", "second", ".data.a", **where)
    applied = await maps.apply(config(a="2"), field_manager="second", **where)
    after_removal = await maps.apply(config(), field_manager="second", **where)

    assert (owned(transferred, "first"), owned(transferred, "second")) == ({".data.b"}, {".data.a"})
    assert (applied["data"], after_removal["data"]) == ({"a": "2", "b": "1"}, {"b": "1"})


async def test_all_fields_of_a_manager_can_be_transferred(maps: ResourceClient, where: dict[str, Any]) -> None:
    await maps.patch("a", {"data": {"c": "1"}}, field_manager="first", **where)

    transferred = await maps.transfer_fields("a", "first", "second", **where)

    assert owned(transferred, "first") == set()
    assert owned(transferred, "second") == {".data.a", ".data.b", ".data.c"}


async def test_a_dry_run_does_not_change_the_owners(maps: ResourceClient, where: dict[str, Any]) -> None:
    tried = await maps.release_fields("a", ".data.a", "first", dry_run=True, **where)

    assert owned(tried, "first") == {".data.b"}
    assert owned(await maps.get("a", **where), "first") == {".data.a", ".data.b"}


async def test_the_object_can_be_given_as_name_manifest_or_live_object(
    maps: ResourceClient, where: dict[str, Any]
) -> None:
    live = await maps.apply(config(c="1"), field_manager="second", **where)

    first = await maps.release_fields(live, ".data.a", "first")
    second = await maps.release_fields(config(), ".data.b", "first", **where)

    assert [owned(each, "first") for each in (first, second)] == [{".data.b"}, set()]


async def test_without_any_owner_the_next_apply_conflicts_with_before_first_apply(
    maps: ResourceClient, where: dict[str, Any]
) -> None:
    released = await maps.release_fields("a", ".data", "first", **where)

    assert "managedFields" not in released["metadata"]
    with pytest.raises(ApplyConflict) as caught:
        await maps.apply(config(a="2"), field_manager="second", **where)
    assert [(each.path, each.manager) for each in caught.value.conflicts] == [(".data.a", "before-first-apply")]


async def test_releasing_or_transferring_fields_that_are_not_owned_is_an_error(
    maps: ResourceClient, where: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=r"does not own \.data\.c"):
        await maps.release_fields("a", ".data.c", "first", **where)
    with pytest.raises(InvalidInput, match="'nobody' owns no fields"):
        await maps.transfer_fields("a", "nobody", "second", **where)
    with pytest.raises(NotFound):
        await maps.release_fields("b", ".data.c", "first", **where)


async def client_side(maps: ResourceClient, obj: dict[str, Any], **where: Any) -> Unstructured:
    """Create an object as client-side ``kubectl apply`` does."""
    last_applied = {LAST_APPLIED: json.dumps(obj)}
    created = {**obj, "metadata": {**obj["metadata"], "annotations": last_applied}}
    return await maps.create(created, field_manager="kubectl-client-side-apply", **where)


async def test_after_a_migration_a_field_that_is_not_applied_again_is_removed(
    cluster: Cluster, maps: ResourceClient
) -> None:
    where: dict[str, Any] = {"namespace": cluster.namespace}
    await client_side(maps, config(a="1", b="1"), **where)

    migrated = await maps.upgrade_managed_fields("a", "me", **where)
    again = await maps.upgrade_managed_fields("a", "me", **where)
    applied = await maps.apply(config(a="2"), field_manager="me", **where)

    assert [migrated.change, again.change] == [Change.CHANGED, Change.UNCHANGED]
    assert owned(migrated, "me") >= {".data.a", ".data.b"}
    assert applied["data"] == {"a": "2"}
    assert LAST_APPLIED not in applied.annotations


async def test_without_a_migration_a_field_that_is_not_applied_again_stays(
    cluster: Cluster, maps: ResourceClient
) -> None:
    where: dict[str, Any] = {"namespace": cluster.namespace}
    await client_side(maps, config(a="1", b="1"), **where)

    applied = await maps.apply(config(a="1"), field_manager="me", **where)

    assert applied["data"] == {"a": "1", "b": "1"}


async def test_the_managers_to_migrate_can_be_given(cluster: Cluster, maps: ResourceClient) -> None:
    where: dict[str, Any] = {"namespace": cluster.namespace}
    await maps.create(config(a="1", b="1"), field_manager="my-old-tool", **where)

    untouched = await maps.upgrade_managed_fields("a", "me", **where)
    migrated = await maps.upgrade_managed_fields("a", "me", iter(["my-old-tool"]), **where)

    assert untouched.change is Change.UNCHANGED
    assert owned(migrated, "me") == {".data.a", ".data.b"}
