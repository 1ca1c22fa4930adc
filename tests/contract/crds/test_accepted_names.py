"""``spec.names`` of CRDs: which are accepted, how conflicts are reported, and names that become free again."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject, conditions


def _named(cluster: Cluster, plural: str, kind: str, **names: Any) -> JSONObject:
    return cluster.crd(plural, kind, names={"plural": plural, "kind": kind, **names})


def _names_checked(crd: JSONObject) -> bool:
    return "NamesAccepted" in conditions(crd)


def _accepted(crd: JSONObject) -> bool:
    return conditions(crd).get("Established", ("", ""))[0] == "True"


def _message(found: JSONObject) -> str:
    entries = {entry["type"]: entry["message"] for entry in found["status"]["conditions"]}
    message: str = entries["NamesAccepted"]
    return message


async def test_a_name_in_use_is_accepted_when_it_is_free_again(cluster: Cluster) -> None:
    first = await cluster.create_crd()
    second = await cluster.create(CRDS, _named(cluster, "gadgets", "Gadget", singular="widget"))
    cluster.register_crd(second)

    rejected = await cluster.wait_for(CRDS, second, _names_checked)
    assert conditions(rejected) == {
        "NamesAccepted": ("False", "SingularConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert _message(rejected) == '"widget" is already in use'
    with pytest.raises(NotFound):
        await cluster.list_of("gadgets")

    await cluster.delete(CRDS, first["metadata"]["name"])
    freed = await cluster.wait_for(CRDS, rejected, _accepted)
    assert freed["status"]["acceptedNames"]["singular"] == "widget"
    await cluster.until_served("gadgets")


async def test_all_conflicts_of_short_names_are_reported_and_other_names_are_accepted(cluster: Cluster) -> None:
    await cluster.create_crd(_named(cluster, "foos", "Foo", shortNames=["f"]))

    second = _named(cluster, "bars", "Bar", shortNames=["f", "foos"], categories=["all"])
    rejected = await cluster.wait_for(CRDS, await cluster.create(CRDS, second), _names_checked)

    assert list(conditions(rejected).items()) == [
        ("NamesAccepted", ("False", "ShortNamesConflict")),
        ("Established", ("False", "NotAccepted")),
    ]
    assert _message(rejected) == '["f" is already in use, "foos" is already in use]'
    accepted = {"plural": "bars", "singular": "bar", "kind": "Bar", "listKind": "BarList", "categories": ["all"]}
    assert rejected["status"]["acceptedNames"] == accepted


async def test_only_the_last_of_several_conflicts_is_reported(cluster: Cluster) -> None:
    await cluster.create_crd(_named(cluster, "foos", "Foo"))

    second = _named(cluster, "others", "Foo", listKind="FooList")
    rejected = await cluster.wait_for(CRDS, await cluster.create(CRDS, second), _names_checked)

    assert conditions(rejected)["NamesAccepted"] == ("False", "ListKindConflict")
    assert _message(rejected) == '"FooList" is already in use'
    assert rejected["status"]["acceptedNames"] == {"plural": "others", "kind": ""}


async def test_a_removed_short_name_is_accepted_for_the_crd_that_waits_for_it(cluster: Cluster) -> None:
    foos = await cluster.create_crd(_named(cluster, "foos", "Foo", shortNames=["f"]))
    bars = await cluster.create(CRDS, _named(cluster, "bars", "Bar", shortNames=["f"]))
    rejected = await cluster.wait_for(CRDS, bars, _names_checked)

    await cluster.patch(CRDS, foos["metadata"]["name"], {"spec": {"names": {"shortNames": None}}})

    accepted = await cluster.wait_for(CRDS, rejected, _accepted)
    assert conditions(accepted)["Established"] == ("True", "InitialNamesAccepted")
    assert accepted["status"]["acceptedNames"]["shortNames"] == ["f"]


async def test_new_names_of_an_established_crd_are_accepted_unless_they_are_in_use(cluster: Cluster) -> None:
    await cluster.create_crd(_named(cluster, "foos", "Foo", shortNames=["f"]))
    bars = await cluster.create_crd(_named(cluster, "bars", "Bar", shortNames=["b"]))

    patch = {"spec": {"names": {"shortNames": ["f"], "categories": ["all"]}}}
    await cluster.patch(CRDS, bars["metadata"]["name"], patch)

    edited = await cluster.wait_for(CRDS, bars, lambda found: conditions(found)["NamesAccepted"][0] == "False")
    assert conditions(edited) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert edited["status"]["acceptedNames"]["shortNames"] == ["b"]
    assert edited["status"]["acceptedNames"]["categories"] == ["all"]


async def test_the_same_names_in_another_group_do_not_conflict(cluster: Cluster) -> None:
    await cluster.create_crd(_named(cluster, "foos", "Foo", shortNames=["f"]))

    group = f"other.{cluster.group}"
    body = _named(cluster, "foos", "Foo", shortNames=["f"])
    body = {**body, "metadata": {"name": f"foos.{group}"}, "spec": {**body["spec"], "group": group}}
    second = await cluster.create_crd(body)

    assert conditions(second)["NamesAccepted"] == ("True", "NoConflicts")
