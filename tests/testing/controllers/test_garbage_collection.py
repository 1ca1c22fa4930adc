"""Garbage collection by ownerReferences."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube_testing._calls.api import JSONObject
from tests.contract.events import types_and_names
from tests.contract.objects import CRDS, config
from tests.testing.engine.cluster import Cluster, crd, widget

HELD = "test.example.com/held"


def refer(owner: JSONObject, **more: Any) -> JSONObject:
    """Return an ownerReference to ``owner``."""
    metadata = owner["metadata"]
    named = {"name": metadata["name"], "uid": metadata["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **named, **more}


def owned(name: str, *owners: JSONObject, block: bool = False, **metadata: Any) -> JSONObject:
    references = [refer(owner, blockOwnerDeletion=block) for owner in owners]
    return config(name, ownerReferences=references, **metadata)


@pytest.fixture
def owner(cluster: Cluster) -> JSONObject:
    return cluster.create("configmaps", config("owner"))


def test_deleting_an_owner_deletes_its_dependents_recursively(cluster: Cluster, owner: JSONObject) -> None:
    child = cluster.create("configmaps", owned("child", owner))
    cluster.create("configmaps", owned("grandchild", child))

    cluster.delete("configmaps", "owner")

    assert cluster.names("configmaps") == []


async def test_background_deletion_deletes_the_owner_first(cluster: Cluster, owner: JSONObject) -> None:
    cluster.create("configmaps", owned("child", owner))
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.storage.revision))

    cluster.delete("configmaps", "owner", body={"propagationPolicy": "Background"})

    assert types_and_names(await cluster.rest_of(stream)) == [("DELETED", "owner"), ("DELETED", "child")]


async def test_foreground_deletion_deletes_the_owner_last(cluster: Cluster, owner: JSONObject) -> None:
    child = cluster.create("configmaps", owned("child", owner, block=True))
    cluster.create("configmaps", owned("grandchild", child, block=True))
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.storage.revision))

    response = cluster.delete("configmaps", "owner", body={"propagationPolicy": "Foreground"})

    assert response["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert types_and_names(await cluster.rest_of(stream)) == [
        ("MODIFIED", "owner"),
        ("MODIFIED", "child"),
        ("DELETED", "grandchild"),
        ("DELETED", "child"),
        ("DELETED", "owner"),
    ]


def test_foreground_deletion_waits_only_for_dependents_with_block_owner_deletion(cluster: Cluster) -> None:
    for name, block in (("patient", True), ("hasty", False)):
        owner = cluster.create("configmaps", config(name))
        cluster.create("configmaps", owned(f"{name}-child", owner, block=block, finalizers=[HELD]))
        cluster.delete("configmaps", name, body={"propagationPolicy": "Foreground"})

    assert cluster.names("configmaps") == ["hasty-child", "patient", "patient-child"]

    cluster.patch("configmaps", "patient-child", {"metadata": {"finalizers": None}})

    assert cluster.names("configmaps") == ["hasty-child"]


def test_orphans_stay_and_lose_their_owner_reference(cluster: Cluster, owner: JSONObject) -> None:
    other = cluster.create("configmaps", config("other"))
    cluster.create("configmaps", owned("child", owner))
    cluster.create("configmaps", owned("shared", owner, other))

    cluster.delete("configmaps", "owner", body={"propagationPolicy": "Orphan"})

    assert cluster.names("configmaps") == ["child", "other", "shared"]
    assert "ownerReferences" not in cluster.get("configmaps", "child")["metadata"]
    assert [ref["name"] for ref in cluster.get("configmaps", "shared")["metadata"]["ownerReferences"]] == ["other"]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_an_object_stays_until_its_last_owner_is_deleted(cluster: Cluster, owner: JSONObject, policy: str) -> None:
    other = cluster.create("configmaps", config("other"))
    cluster.create("configmaps", owned("shared", owner, other, block=True))

    cluster.delete("configmaps", "owner", body={"propagationPolicy": policy})
    assert cluster.names("configmaps") == ["other", "shared"]

    cluster.delete("configmaps", "other", body={"propagationPolicy": policy})
    assert cluster.names("configmaps") == []


@pytest.mark.parametrize(
    "wrong", [{"uid": "0000"}, {"name": "nobody"}, {"kind": "Secret"}], ids=["uid", "name", "kind"]
)
def test_an_object_whose_owner_does_not_exist_is_deleted_at_once(
    cluster: Cluster, owner: JSONObject, wrong: dict[str, str]
) -> None:
    cluster.create("configmaps", config("child", ownerReferences=[refer(owner, **wrong)]))

    assert cluster.names("configmaps") == ["owner"]


def test_an_owner_in_another_namespace_does_not_count(cluster: Cluster, owner: JSONObject) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})

    cluster.create("configmaps", owned("child", owner), namespace="shop")

    assert cluster.names("configmaps") == ["owner"]


def test_a_namespaced_owner_of_a_cluster_scoped_object_is_ignored(cluster: Cluster, owner: JSONObject) -> None:
    cluster.create("clusterroles", {"metadata": {"name": "reader", "ownerReferences": [refer(owner)]}})

    cluster.delete("configmaps", "owner")

    assert cluster.names("clusterroles") == ["reader"]


def test_a_cluster_scoped_owner_may_own_objects_in_any_namespace(cluster: Cluster) -> None:
    role = cluster.create("clusterroles", {"metadata": {"name": "reader"}})
    cluster.create("configmaps", owned("child", role))

    cluster.delete("clusterroles", "reader")

    assert cluster.names("configmaps") == []


def test_a_cycle_of_owners_is_deleted_as_a_whole(cluster: Cluster, owner: JSONObject) -> None:
    child = cluster.create("configmaps", owned("child", owner, block=True))
    references = {"metadata": {"ownerReferences": [refer(child, blockOwnerDeletion=True)]}}
    cluster.patch("configmaps", "owner", references)

    cluster.delete("configmaps", "owner", body={"propagationPolicy": "Foreground"})

    assert cluster.names("configmaps") == []


def test_an_owner_of_an_unserved_kind_counts_as_missing_once_the_kind_is_served(cluster: Cluster) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "1"}
    cluster.create("configmaps", config("child", ownerReferences=[reference]))
    assert cluster.names("configmaps") == ["child"]

    cluster.create(CRDS, crd())

    assert cluster.names("configmaps") == []


def test_deleting_a_crd_deletes_the_dependents_of_its_custom_resources(cluster: Cluster) -> None:
    cluster.create(CRDS, crd())
    custom = cluster.create("widgets", widget())
    cluster.create("configmaps", owned("child", custom))

    cluster.delete(CRDS, "widgets.example.com")

    assert cluster.names("configmaps") == []


def test_without_garbage_collection_dependents_stay_and_foreground_deletion_waits() -> None:
    cluster = Cluster(garbage_collection=False)
    owner = cluster.create("configmaps", config("owner"))
    cluster.create("configmaps", owned("child", owner))

    cluster.delete("configmaps", "owner", body={"propagationPolicy": "Foreground"})

    assert cluster.names("configmaps") == ["child", "owner"]
