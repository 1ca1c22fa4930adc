"""Delete: at once or by finalizers, under preconditions, one or many."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, Invalid, NotFound
from tests.testing.engine.cluster import Cluster, config, seen, workload

HELD = ["example.com/hold"]


def test_a_delete_answers_with_what_it_deleted(cluster: Cluster) -> None:
    created = cluster.create("configmaps", config())

    answer = cluster.delete("configmaps", "a")

    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    with pytest.raises(NotFound):
        cluster.delete("configmaps", "a")


def test_finalizers_keep_a_deleted_object_until_the_last_is_gone(cluster: Cluster) -> None:
    cluster.create("configmaps", config(finalizers=HELD))

    marked = cluster.delete("configmaps", "a")
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    assert cluster.delete("configmaps", "a") == marked

    marked["metadata"]["finalizers"] = []
    cluster.update("configmaps", marked)
    with pytest.raises(NotFound):
        cluster.get("configmaps", "a")


async def test_the_deletion_event_shows_the_object_as_it_was_stored_last(cluster: Cluster) -> None:
    cluster.create("configmaps", config(finalizers=HELD))
    marked = cluster.delete("configmaps", "a")
    stream = cluster.watch("configmaps", resourceVersion=marked["metadata"]["resourceVersion"])

    cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}})

    (event,) = await cluster.rest_of(stream)
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["finalizers"] == HELD
    assert int(event["object"]["metadata"]["resourceVersion"]) == cluster.engine.revision


def test_an_object_on_its_way_takes_no_new_finalizers(cluster: Cluster) -> None:
    cluster.create("configmaps", config(finalizers=HELD))
    cluster.delete("configmaps", "a")

    with pytest.raises(Invalid, match=r"no new finalizers can be added .* found new finalizers \[\]string{\"a.b/c\"}"):
        cluster.patch("configmaps", "a", {"metadata": {"finalizers": [*HELD, "a.b/c"]}})


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_a_precondition_that_does_not_hold_is_a_conflict(cluster: Cluster, field: str) -> None:
    created = cluster.create("configmaps", config())

    with pytest.raises(Conflict, match="in the precondition"):
        cluster.delete("configmaps", "a", body={"preconditions": {field: "77"}})
    cluster.delete("configmaps", "a", body={"preconditions": {field: created["metadata"][field]}})


@pytest.mark.parametrize("how", [{"params": {"dryRun": "All"}}, {"body": {"dryRun": ["All"]}}])
def test_a_dry_run_deletes_nothing(cluster: Cluster, how: dict[str, Any]) -> None:
    created = cluster.create("configmaps", config())

    cluster.delete("configmaps", "a", **how)

    assert cluster.get("configmaps", "a") == created


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"body": {"propagationPolicy": "Sometimes"}}, 'propagationPolicy: Unsupported value: "Sometimes"'),
        ({"params": {"propagationPolicy": "Sometimes"}}, 'propagationPolicy: Unsupported value: "Sometimes"'),
        ({"body": {"propagationPolicy": "Orphan", "orphanDependents": True}}, "cannot be both set"),
    ],
)
def test_options_that_make_no_sense_are_refused(cluster: Cluster, how: dict[str, Any], words: str) -> None:
    cluster.create("configmaps", config())

    with pytest.raises(Invalid, match=words):
        cluster.delete("configmaps", "a", **how)


def test_a_body_that_is_no_delete_options_is_refused(cluster: Cluster) -> None:
    cluster.create("configmaps", config())

    with pytest.raises(BadRequest):
        cluster.delete("configmaps", "a", body=config())


async def test_a_collection_is_deleted_by_its_selectors(cluster: Cluster) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        cluster.create("configmaps", config(name, labels=labels))
    stream = cluster.watch("configmaps", resourceVersion=str(cluster.engine.revision))

    answer = cluster.call("deletecollection", "configmaps", namespace="default", params={"labelSelector": "x=1"})

    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "c"]
    assert cluster.names("configmaps") == ["b"]
    assert seen(await cluster.rest_of(stream)) == [("DELETED", "a"), ("DELETED", "c")]


def test_a_delete_counts_as_a_generation_where_there_is_one(cluster: Cluster) -> None:
    deployment = workload()
    deployment["metadata"]["finalizers"] = HELD
    assert cluster.create("deployments", deployment)["metadata"]["generation"] == 1

    assert cluster.delete("deployments", "d")["metadata"]["generation"] == 2
