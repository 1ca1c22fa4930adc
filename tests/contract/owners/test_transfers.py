"""Fields that change their owner on purpose: to a controller, to a renamed manager, by extract and apply."""

from __future__ import annotations

import pytest

import dynkube
from dynkube.meta import Unstructured
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, config, owners, workload
from tests.contract.owners.kit import Apply, Update, applied, field_sets, owned, play


async def test_replicas_can_be_handed_over_to_a_controller_without_a_reset(cluster: Cluster) -> None:
    await cluster.apply("deployments", workload(replicas=3), "me")
    own = {"replicas": 3, "selector": workload()["spec"]["selector"]}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": own}
    both = await cluster.apply("deployments", body, "controller")
    assert {manager for manager, fields in owners(both).items() if "f:replicas" in fields["f:spec"]} == {
        "me",
        "controller",
    }

    remaining = await cluster.apply("deployments", workload(), "me")

    assert remaining["spec"]["replicas"] == 3
    assert "f:replicas" not in owners(remaining)["me"]["f:spec"]


async def test_a_field_without_another_owner_is_reset_to_its_default(cluster: Cluster) -> None:
    await cluster.apply("deployments", workload(replicas=3), "me")

    assert (await cluster.apply("deployments", workload(), "me"))["spec"]["replicas"] == 1


async def test_a_field_updated_by_another_manager_is_not_reset(cluster: Cluster) -> None:
    await cluster.apply("deployments", workload(replicas=3), "me")
    await cluster.patch("deployments", "d", {"spec": {"replicas": 5}}, params={"fieldManager": "controller"})

    remaining = await cluster.apply("deployments", workload(), "me")

    assert remaining["spec"]["replicas"] == 5


async def test_a_key_of_a_map_updated_by_another_manager_is_not_removed(cluster: Cluster) -> None:
    await cluster.apply("configmaps", {**config(), "data": {"a": "1", "b": "1"}}, "me")
    await cluster.patch("configmaps", "a", {"data": {"b": "2"}}, params={"fieldManager": "other"})

    remaining = await cluster.apply("configmaps", {**config(), "data": {"a": "1"}}, "me")

    assert remaining["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize("operation", ["Apply", "Update"])
async def test_writing_managed_fields_can_rename_a_manager(cluster: Cluster, operation: str) -> None:
    if operation == "Apply":
        obj = await cluster.apply("configmaps", config(), "old")
    else:
        obj = await cluster.create("configmaps", config(), params={"fieldManager": "old"})
    (entry,) = obj["metadata"]["managedFields"]

    patch = {"metadata": {"managedFields": [{**entry, "manager": "new"}]}}
    renamed = await cluster.patch("configmaps", "a", patch, MERGE, params={"fieldManager": "renamer"})

    assert [each["manager"] for each in renamed["metadata"]["managedFields"]] == ["new"]
    changed = {**config(), "data": {"k": "w"}}
    assert (await applied(cluster, "configmaps", changed, "new"))[0] == (200 if operation == "Apply" else 409)


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_entries_of_two_subresources_can_be_merged_by_writing_managed_fields(cluster: Cluster) -> None:
    """The last of two entries that then have the same identity wins."""
    await cluster.apply("deployments", workload(), "maker")
    body: JSONObject = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    here, there = ({**body, "metadata": {"name": "d", "annotations": {key: "1"}}} for key in "ab")
    await cluster.apply("deployments", here, "me")
    obj = await cluster.apply("deployments/status", there, "me")
    assert set(owners(obj)) == {"maker", "me", "me:status"}

    for entry in obj["metadata"]["managedFields"]:
        entry.pop("subresource", None)
    merged = await cluster.update("deployments", obj)

    assert merged["metadata"]["annotations"] == {"a": "1", "b": "1"}
    assert set(owners(merged)) == {"maker", "me"}
    assert owners(merged)["me"] == {"f:metadata": {"f:annotations": {"f:b": {}}}}


async def test_an_update_of_an_object_being_deleted_disowns_its_deletion_timestamp(cluster: Cluster) -> None:
    """The body of an update usually lacks the deletionTimestamp; a patch contains it implicitly."""
    await cluster.create("configmaps", config(finalizers=["a.b/c"]))
    await cluster.delete("configmaps", "a")
    await cluster.patch("configmaps", "a", {"metadata": {"managedFields": [{}]}})
    await cluster.apply("configmaps", config(), "me")

    def deletion(obj: JSONObject) -> set[str]:
        return {name for name in owners(obj)["before-first-apply:Update"]["f:metadata"] if "deletion" in name}

    patched = await cluster.patch("configmaps", "a", {"metadata": {"labels": {"a": "b"}}})
    replaced = await cluster.update("configmaps", config(finalizers=["a.b/c"], labels={"a": "b"}))
    await cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}})

    assert deletion(patched) == {"f:deletionGracePeriodSeconds", "f:deletionTimestamp"}
    assert deletion(replaced) == set()
    assert replaced["metadata"]["deletionTimestamp"] == patched["metadata"]["deletionTimestamp"]


def extracted(obj: JSONObject, manager: str) -> JSONObject:
    """Return the configuration that a manager has applied, from managedFields."""
    return dict(dynkube.extract(Unstructured(obj), manager).to_dict())


SPEC = {"text": "x", "set": ["a"], "list": [{"name": "a", "value": "1"}], "struct": {"inner": {"c": "1"}}}


async def test_applying_an_extracted_configuration_changes_nothing(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", SPEC), Apply("two", {"number": 1})])

    again = await widgets.apply("widgets", extracted(obj, "one"), "one")

    assert again == obj


@pytest.mark.since("1.21", "the set became null")
async def test_a_field_removed_from_an_extracted_configuration_is_removed(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", SPEC)])
    mine = extracted(obj, "one")
    del mine["spec"]["set"]

    remaining = await widgets.apply("widgets", mine, "one")

    assert owned(remaining) == field_sets({"one": "text list[a] list[a].name list[a].value struct.inner.c"})


async def test_an_extracted_configuration_lacks_fields_that_others_have_changed(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", {"text": "x", "number": 1}), Update("ctl", {"text": "y", "number": 1})])

    again = await widgets.apply("widgets", {**extracted(obj, "one")}, "one")

    assert (again["spec"], owned(again)) == (obj["spec"], field_sets({"one": "number", "ctl:Update": "text"}))
