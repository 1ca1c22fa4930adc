"""Fields that change hands on purpose: to a controller, to another name, to who extracts and applies again."""

from __future__ import annotations

import pytest

import dynkube
from dynkube.meta import Unstructured
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, config, owners, workload
from tests.contract.owners.kit import Apply, Update, applied, owned, play, words


async def test_replicas_are_left_to_a_controller_without_being_reset(cluster: Cluster) -> None:
    await cluster.apply("deployments", workload(replicas=3), "me")
    own = {"replicas": 3, "selector": workload()["spec"]["selector"]}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": own}
    both = await cluster.apply("deployments", body, "controller")
    assert {manager for manager, fields in owners(both).items() if "f:replicas" in fields["f:spec"]} == {
        "me",
        "controller",
    }

    left = await cluster.apply("deployments", workload(), "me")

    assert left["spec"]["replicas"] == 3
    assert "f:replicas" not in owners(left)["me"]["f:spec"]


async def test_what_nobody_else_wants_goes_back_to_its_default(cluster: Cluster) -> None:
    await cluster.apply("deployments", workload(replicas=3), "me")

    assert (await cluster.apply("deployments", workload(), "me"))["spec"]["replicas"] == 1


async def test_what_was_updated_after_it_was_applied_is_not_reset(cluster: Cluster) -> None:
    await cluster.apply("deployments", workload(replicas=3), "me")
    await cluster.patch("deployments", "d", {"spec": {"replicas": 5}}, params={"fieldManager": "controller"})

    left = await cluster.apply("deployments", workload(), "me")

    assert left["spec"]["replicas"] == 5


async def test_an_item_of_a_map_that_others_have_filled_is_not_taken_out(cluster: Cluster) -> None:
    await cluster.apply("configmaps", {**config(), "data": {"a": "1", "b": "1"}}, "me")
    await cluster.patch("configmaps", "a", {"data": {"b": "2"}}, params={"fieldManager": "other"})

    left = await cluster.apply("configmaps", {**config(), "data": {"a": "1"}}, "me")

    assert left["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize("operation", ["Apply", "Update"])
async def test_managers_are_renamed_by_writing_managed_fields(cluster: Cluster, operation: str) -> None:
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


@pytest.mark.since("1.22", "owners were not told apart by subresource")
async def test_who_wrote_through_two_paths_is_one_when_the_record_says_so(cluster: Cluster) -> None:
    """Of two entries that then have the same identity the last counts."""
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


async def test_who_replaces_what_is_on_its_way_out_takes_the_record_of_that_back(cluster: Cluster) -> None:
    """But for a patch, which says what there is, whoever replaces it leaves out when it was deleted."""
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
    """What a manager applied last, read from the record of it."""
    return dict(dynkube.extract(Unstructured(obj), manager).to_dict())


SPEC = {"text": "x", "set": ["a"], "list": [{"name": "a", "value": "1"}], "struct": {"inner": {"c": "1"}}}


async def test_what_is_extracted_and_applied_again_changes_nothing(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", SPEC), Apply("two", {"number": 1})])

    again = await widgets.apply("widgets", extracted(obj, "one"), "one")

    assert again == obj


@pytest.mark.since("1.21", "a null was left of the set")
async def test_what_is_taken_out_of_it_goes(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", SPEC)])
    mine = extracted(obj, "one")
    del mine["spec"]["set"]

    left = await widgets.apply("widgets", mine, "one")

    assert owned(left) == words({"one": "text list[a] list[a].name list[a].value struct.inner.c"})


async def test_what_others_have_changed_since_is_not_in_it(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", {"text": "x", "number": 1}), Update("ctl", {"text": "y", "number": 1})])

    again = await widgets.apply("widgets", {**extracted(obj, "one")}, "one")

    assert (again["spec"], owned(again)) == (obj["spec"], words({"one": "number", "ctl:Update": "text"}))
