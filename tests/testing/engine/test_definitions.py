"""CustomResourceDefinitions coming and changing: conditions, names, versions, scope."""

from __future__ import annotations

import math

import pytest
import trio

from dynkube.errors import Conflict, Invalid
from tests.testing.engine.cluster import (
    CRDS,
    Cluster,
    conditions,
    config,
    definition,
    read_ended,
    seen,
    version,
    widget,
)

NAME = "widgets.example.com"


async def test_a_definition_is_accepted_then_established_each_seen_by_a_watch(cluster: Cluster) -> None:
    stream = cluster.watch(CRDS)

    created = cluster.create(CRDS, definition())

    assert created["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert created["spec"]["names"] == {
        "plural": "widgets",
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    added, *changes = await cluster.rest_of(stream)
    assert added["object"] == created
    assert [list(conditions(change["object"]).items()) for change in changes] == [
        [("NamesAccepted", ("True", "NoConflicts")), ("Established", ("False", "Installing"))],
        [("NamesAccepted", ("True", "NoConflicts")), ("Established", ("True", "InitialNamesAccepted"))],
    ]


async def test_establishing_takes_as_long_as_told() -> None:
    cluster = Cluster(establish_delay=5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.engine.run)
        stream = cluster.watch(CRDS, timeoutSeconds="20")
        cluster.create(CRDS, definition())
        assert conditions(cluster.get(CRDS, NAME))["Established"] == ("False", "Installing")
        assert not cluster.kind("widgets").listed

        begin, established = trio.current_time(), 0.0
        async for batch in stream:
            if '"InitialNamesAccepted"' in batch[-1].line.decode():
                established = trio.current_time() - begin
        assert established == 5
        assert cluster.kind("widgets").listed
        nursery.cancel_scope.cancel()


async def test_a_definition_that_goes_before_it_is_established_is_not_brought_back() -> None:
    cluster = Cluster(establish_delay=5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.engine.run)
        cluster.create(CRDS, definition())
        await trio.sleep(3)
        cluster.delete(CRDS, NAME)
        cluster.create(CRDS, definition(scope="Cluster"))
        await trio.sleep(4.9)
        assert conditions(cluster.get(CRDS, NAME))["Established"][0] == "False"
        await trio.sleep(1)
        assert conditions(cluster.get(CRDS, NAME))["Established"][0] == "True"
        nursery.cancel_scope.cancel()


def test_a_definition_can_stay_unestablished_for_ever() -> None:
    cluster = Cluster(establish_delay=math.inf)
    cluster.create(CRDS, definition())

    assert conditions(cluster.get(CRDS, NAME))["Established"] == ("False", "Installing")


def test_a_name_that_is_taken_is_not_accepted_until_it_is_free(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    second = definition("gadgets", "Gadget")
    second["spec"]["names"]["singular"] = "widget"
    cluster.create(CRDS, second)

    refused = cluster.get(CRDS, "gadgets.example.com")
    assert conditions(refused) == {
        "NamesAccepted": ("False", "SingularConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert refused["status"]["conditions"][0]["message"] == '"widget" is already in use'
    assert not cluster.serves("gadgets.v1.example.com")

    cluster.delete(CRDS, NAME)
    assert conditions(cluster.get(CRDS, "gadgets.example.com"))["Established"][0] == "True"
    assert cluster.serves("gadgets.v1.example.com")


def test_an_object_is_read_in_every_served_version(cluster: Cluster) -> None:
    versions = [version("v1"), version("v1beta1", storage=False), version("v3", storage=False, served=False)]
    cluster.create(CRDS, definition(versions=versions))
    cluster.create("widgets.v1beta1.example.com", widget(api_version="example.com/v1beta1", spec={"a": 1}))

    assert cluster.get("widgets.v1.example.com", "w")["apiVersion"] == "example.com/v1"
    assert cluster.get("widgets.v1beta1.example.com", "w")["apiVersion"] == "example.com/v1beta1"
    assert not cluster.serves("widgets.v3.example.com")


async def test_an_edit_changes_what_is_served_and_ends_the_watches(cluster: Cluster) -> None:
    versions = [version("v1"), version("v2", storage=False)]
    cluster.create(CRDS, definition(versions=versions))
    cluster.create("widgets.v2.example.com", widget(api_version="example.com/v2"))
    ended, other = cluster.watch("widgets.v2.example.com"), cluster.watch("configmaps")

    versions[1] = version("v2", storage=False, served=False)
    cluster.patch(CRDS, NAME, {"spec": {"versions": versions}})

    assert seen(await read_ended(ended)) == [("ADDED", "w")]
    assert not cluster.serves("widgets.v2.example.com")
    assert cluster.names("widgets") == ["w"]
    cluster.create("configmaps", config())
    assert seen(await cluster.rest_of(other)) == [("ADDED", "a")]


async def test_labelling_a_definition_disturbs_nobody(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    stream = cluster.watch("widgets")

    cluster.patch(CRDS, NAME, {"metadata": {"labels": {"a": "b"}}})
    cluster.create("widgets", widget())

    assert seen(await cluster.rest_of(stream)) == [("ADDED", "w")]


def test_scope_and_names_cannot_change_and_stored_versions_cannot_go(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())

    with pytest.raises(Invalid, match=r'spec.scope: Invalid value: "Cluster": field is immutable'):
        cluster.patch(CRDS, NAME, {"spec": {"scope": "Cluster"}})
    with pytest.raises(Invalid, match=r"v1 was previously a storage version, and must remain in spec.versions"):
        cluster.patch(CRDS, NAME, {"spec": {"versions": [version("v2")]}})


def test_a_new_storage_version_is_remembered_beside_the_old(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    cluster.patch(CRDS, NAME, {"spec": {"versions": [version("v1", storage=False), version("v2")]}})

    assert cluster.get(CRDS, NAME)["status"]["storedVersions"] == ["v1", "v2"]


def test_a_definition_is_locked_like_any_object(cluster: Cluster) -> None:
    created = cluster.create(CRDS, definition())

    with pytest.raises(Conflict):
        cluster.update(CRDS, {**created, "metadata": {**created["metadata"], "labels": {"a": "b"}}})
