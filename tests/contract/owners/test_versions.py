"""Managers that write in different versions of a CRD, or in a version that was removed."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject
from tests.contract.owners.kit import TEXT, Apply, applied, field_sets, owned, play, served, set_of

OLD = {"text": TEXT, "set": set_of(TEXT)}
NEW = {"text": TEXT, "extra": TEXT, "set": {"type": "array", "items": TEXT}}


@pytest.fixture
async def differing(cluster: Cluster) -> Cluster:
    """Widgets whose first version lacks a field of the second, and has a set where the second has an atomic list."""
    await cluster.create_crd(cluster.crd(versions=[served(OLD, storage=False), served(NEW, "v2")]))
    return cluster


async def apply(cluster: Cluster, spec: JSONObject, manager: str, version: str) -> tuple[int, JSONObject]:
    body = cluster.widget(api_version=version, spec=spec)
    return await applied(cluster, f"widgets.{version}", body, manager)


async def test_owned_fields_are_in_the_version_of_their_manager(differing: Cluster) -> None:
    obj = await play(differing, [Apply("one", {"set": ["a"]}), Apply("two", {"set": ["a"]}, version="v2")])

    assert owned(obj) == field_sets({"one": "set[a]", "two": "set"})


async def test_a_list_that_is_atomic_in_its_owners_version_conflicts_as_a_whole(differing: Cluster) -> None:
    await play(differing, [Apply("two", {"set": ["a"]}, version="v2")])

    code, error = await apply(differing, {"set": ["b"]}, "one", "v1")

    assert (code, error["details"]["causes"][0]["field"]) == (409, ".spec.set")


async def test_replacing_an_atomic_list_does_not_conflict_with_owners_of_items(differing: Cluster) -> None:
    await play(differing, [Apply("one", {"set": ["a"]}), Apply("two", {"text": "x"}, version="v2")])
    body = differing.widget(api_version="v2", spec={"set": ["b"], "text": "x"})

    obj = await differing.apply("widgets.v2", body, "two")

    assert (obj["spec"]["set"], owned(obj)) == (["b"], field_sets({"two": "set text"}))


@pytest.mark.since("1.29", "applies to objects with duplicates failed")
async def test_duplicates_in_a_list_that_is_a_set_in_another_version_break_applies(differing: Cluster) -> None:
    twice = differing.widget(api_version="v2", spec={"set": ["a", "a"], "text": "y"})
    await differing.create("widgets.v2", twice, params={"fieldManager": "maker"})
    await play(differing, [Apply("one", {"text": "y"})])

    code, error = await apply(differing, {}, "one", "v1")

    assert (code, error["message"].rpartition(": .")[2]) == (500, 'spec.set: duplicate entries for key [="a"]')


async def test_applying_a_field_that_another_managers_version_lacks_is_an_error(differing: Cluster) -> None:
    await play(differing, [Apply("one", {"text": "x"})])

    code, error = await apply(differing, {"extra": "x"}, "two", "v2")

    assert (code, error["message"]) == (
        500,
        "failed to convert new object: .spec.extra: field not declared in schema",
    )


async def test_patching_a_field_that_another_managers_version_lacks_removes_all_owners(differing: Cluster) -> None:
    """https://github.com/kubernetes/kubernetes/issues/133704"""
    await play(differing, [Apply("one", {"text": "x"})])

    obj = await differing.patch("widgets.v2", "w", {"spec": {"extra": "x"}}, params={"fieldManager": "two"})

    assert obj["spec"] == {"text": "x", "extra": "x"}
    assert "managedFields" not in obj["metadata"]


@pytest.fixture
async def dropped(cluster: Cluster) -> Cluster:
    """A Widget that ``one`` has applied in a version that was removed afterwards."""
    versions = [served(storage=False), served(name="v2")]
    crd = await cluster.create_crd(cluster.crd(versions=versions))
    await cluster.apply("widgets.v1", cluster.widget(spec={"text": "x"}), "one")
    await cluster.patch(CRDS, crd["metadata"]["name"], {"spec": {"versions": versions[1:]}})

    async def forgotten() -> bool:
        return (await cluster.call("GET", cluster.path("widgets.v1"))).code == 404

    await cluster.until(forgotten)
    await cluster.until_served("widgets.v2")
    return cluster


async def test_applies_fail_after_the_version_of_an_earlier_apply_was_removed(dropped: Cluster) -> None:
    """https://github.com/kubernetes/kubernetes/issues/111937"""
    code, error = await apply(dropped, {"number": 1}, "two", "v2")

    gone = f"request to convert CR to an invalid group/version: {dropped.group}/v1"
    assert (code, error["message"]) == (500, gone)


async def test_a_patch_repairs_managed_fields_with_a_removed_version(dropped: Cluster) -> None:
    patched = await dropped.patch("widgets.v2", "w", {"spec": {"number": 1}}, params={"fieldManager": "two"})
    assert "managedFields" not in patched["metadata"]

    code, obj = await apply(dropped, {"number": 1}, "two", "v2")

    assert code == 200
    assert owned(obj) == field_sets({"two": "number", "before-first-apply:Update": "number text"})
