"""The server's behaviour after ``managedFields`` with released, transferred or migrated fields were written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynkube import extract, fields_of, owners
from dynkube.errors import ApplyConflict, Conflict
from dynkube.fields._handover import LAST_APPLIED, migrated, released, transferred
from tests.contract.cluster import JSON, Cluster
from tests.contract.objects import JSONObject, config

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
CSA = {"fieldManager": "kubectl-client-side-apply"}


def applied(**data: str) -> JSONObject:
    return {**config(), "data": data}


async def written(cluster: Cluster, live: JSONObject, entries: list[Any], resource: str = "configmaps") -> JSONObject:
    """Write these entries, with the resourceVersion as a precondition, and return the object."""
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ]
    return await cluster.patch(resource, live["metadata"]["name"], patch, JSON, params={"fieldManager": "mover"})


def has_entries(live: JSONObject, entries: list[Any]) -> bool:
    """Return whether the object has these entries, in any order."""

    def as_text(each: JSONObject) -> str:
        return json.dumps(each, sort_keys=True)

    return sorted(map(as_text, live["metadata"]["managedFields"])) == sorted(map(as_text, entries))


async def test_a_released_field_stays_when_it_is_no_longer_applied(cluster: Cluster) -> None:
    live = await cluster.apply("configmaps", applied(a="1", b="1"), "one")

    entries = released(live, ".data.a", "one")
    live = await written(cluster, live, entries)
    assert has_entries(live, entries)
    after = await cluster.apply("configmaps", applied(b="2"), "one")

    assert after["data"] == {"a": "1", "b": "2"}
    assert ".data.a" not in owners(after)


async def test_another_manager_applies_a_released_field_without_a_conflict(cluster: Cluster) -> None:
    live = await cluster.apply("configmaps", applied(a="1", b="1"), "one")
    with pytest.raises(ApplyConflict):
        await cluster.apply("configmaps", applied(a="2"), "two")

    await written(cluster, live, released(live, ".data.a", "one"))
    after = await cluster.apply("configmaps", applied(a="2"), "two")

    assert after["data"] == {"a": "2", "b": "1"}
    assert [manager.name for manager in owners(after)[".data.a"]] == ["two"]


async def test_the_new_owner_applies_a_transferred_field_without_a_conflict(cluster: Cluster) -> None:
    await cluster.apply("configmaps", applied(a="1", b="1"), "one")
    live = await cluster.apply("configmaps", applied(c="1"), "two")

    entries = transferred(live, "one", "two", [".data.a"])
    live = await written(cluster, live, entries)
    assert has_entries(live, entries)
    await cluster.apply("configmaps", applied(b="1"), "one")
    after = await cluster.apply("configmaps", applied(a="2", c="2"), "two")

    assert after["data"] == {"a": "2", "b": "1", "c": "2"}


async def test_fields_written_by_update_can_be_transferred_to_a_manager_that_applies(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", applied(a="1", b="1"), params={"fieldManager": "hand"})

    live = await written(cluster, created, transferred(created, "hand", "gitops"))
    assert extract(live, "gitops")["data"] == {"a": "1", "b": "1"}
    after = await cluster.apply("configmaps", applied(a="1"), "gitops")

    assert after["data"] == {"a": "1"}


async def test_a_field_of_a_list_item_can_be_transferred(cluster: Cluster) -> None:
    containers = [{"name": "app", "image": "app:1", "imagePullPolicy": "Always"}]
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": pods}
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    created = await cluster.create("deployments", obj, params={"fieldManager": "hand"})
    path = '.spec.template.spec.containers[name="app"].image'

    live = await written(cluster, created, transferred(created, "hand", "ci", path), "deployments")
    mine = extract(live, "ci").to_dict()
    mine["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    after = await cluster.apply("deployments", mine, "ci")

    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "app:2"
    assert [manager.name for manager in owners(after)[path]] == ["ci"]


async def client_side(cluster: Cluster, **data: str) -> JSONObject:
    """Create an object as client-side ``kubectl apply`` does: with an annotation."""
    obj = applied(**data)
    obj["metadata"]["annotations"] = {ANNOTATION: json.dumps(applied(**data))}
    return await cluster.create("configmaps", obj, params=CSA)


async def test_after_a_migration_a_field_that_is_not_applied_is_removed(cluster: Cluster) -> None:
    live = await client_side(cluster, a="1", b="1")

    entries = migrated(live, "gitops")
    live = await written(cluster, live, entries)
    assert has_entries(live, entries)
    after = await cluster.apply("configmaps", applied(b="1"), "gitops")

    assert after["data"] == {"b": "1"}
    assert LAST_APPLIED not in owners(after), "the annotation was the manager's, and it has left it out"
    assert ANNOTATION not in after["metadata"].get("annotations", {})


async def test_without_a_migration_a_field_that_is_not_applied_stays(cluster: Cluster) -> None:
    await client_side(cluster, a="1", b="1")

    await cluster.apply("configmaps", applied(a="1", b="1"), "gitops")
    after = await cluster.apply("configmaps", applied(b="1"), "gitops")

    assert after["data"] == {"a": "1", "b": "1"}


async def test_a_migration_is_possible_after_the_first_apply(cluster: Cluster) -> None:
    await client_side(cluster, a="1", b="1")
    live = await cluster.apply("configmaps", applied(a="1", b="1", c="1"), "gitops")

    live = await written(cluster, live, migrated(live, "gitops"))
    after = await cluster.apply("configmaps", applied(c="1"), "gitops")

    assert after["data"] == {"c": "1"}
    assert list(map(str, fields_of(after, "gitops"))) == [".data.c"]


async def test_writing_entries_after_another_write_is_a_conflict(cluster: Cluster) -> None:
    live = await cluster.apply("configmaps", applied(a="1"), "one")
    await cluster.apply("configmaps", applied(b="1"), "two")

    with pytest.raises(Conflict):
        await written(cluster, live, released(live, ".data.a", "one"))
