"""Update: optimistic locking, generations, what cannot be changed."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest, Conflict, Invalid, NotFound
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, config, definition, version, widget


@pytest.fixture
def stored(cluster: Cluster) -> JSONObject:
    return cluster.create("configmaps", config())


@pytest.fixture
def widgets(cluster: Cluster) -> JSONObject:
    cluster.create(CRDS, definition(versions=[version(subresources={"status": {}})]))
    return cluster.create("widgets", widget(spec={"size": 1}, status={"ready": True}))


def test_an_update_replaces_the_object_under_a_new_version(cluster: Cluster, stored: JSONObject) -> None:
    updated = cluster.update("configmaps", {**stored, "data": {"k": "w"}})

    assert updated["data"] == {"k": "w"}
    assert int(updated["metadata"]["resourceVersion"]) == int(stored["metadata"]["resourceVersion"]) + 1
    assert updated["metadata"]["uid"] == stored["metadata"]["uid"]


def test_an_update_that_changes_nothing_writes_nothing(cluster: Cluster, stored: JSONObject) -> None:
    before = cluster.engine.revision

    assert cluster.update("configmaps", stored) == stored
    assert cluster.engine.revision == before


def test_an_update_of_an_older_version_is_a_conflict(cluster: Cluster, stored: JSONObject) -> None:
    cluster.update("configmaps", {**stored, "data": {}})

    with pytest.raises(Conflict) as caught:
        cluster.update("configmaps", {**stored, "data": {"k": "w"}})
    assert caught.value.status.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes '
        "to the latest version and try again"
    )


def test_an_update_of_another_object_of_the_name_is_a_conflict(cluster: Cluster, stored: JSONObject) -> None:
    with pytest.raises(Conflict, match=f"UID in precondition: x, UID in object meta: {stored['metadata']['uid']}"):
        cluster.update("configmaps", config(uid="x"))


def test_an_update_without_a_version_overwrites_built_in_objects_only(
    cluster: Cluster, stored: JSONObject, widgets: JSONObject
) -> None:
    del stored["metadata"]["resourceVersion"]

    assert "data" not in cluster.update("configmaps", {**stored, "data": {}})
    with pytest.raises(Invalid, match=r"metadata.resourceVersion: Invalid value: 0: must be specified for an update"):
        cluster.update("widgets", widget())


def test_an_update_cannot_rewrite_what_the_server_says(cluster: Cluster, stored: JSONObject) -> None:
    body = {**stored, "metadata": {**stored["metadata"], "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 7}}

    assert cluster.update("configmaps", body) == stored


def test_a_body_of_another_name_is_refused(cluster: Cluster, stored: JSONObject) -> None:
    with pytest.raises(BadRequest, match=r"name of the object \(a\) does not match the name on the URL \(b\)"):
        cluster.call("update", "configmaps", "b", body=stored)


def test_an_update_does_not_create(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        cluster.update("configmaps", config())


def test_the_generation_counts_changes_of_the_spec_alone(cluster: Cluster, widgets: JSONObject) -> None:
    labelled = cluster.update("widgets", {**widgets, "metadata": {**widgets["metadata"], "labels": {"a": "b"}}})
    resized = cluster.update("widgets", {**labelled, "spec": {"size": 2}})

    generations = [obj["metadata"]["generation"] for obj in (widgets, labelled, resized)]
    assert generations == [1, 1, 2]


def test_the_status_is_written_through_its_subresource_alone(cluster: Cluster, widgets: JSONObject) -> None:
    assert "status" not in widgets

    main = cluster.update("widgets", {**widgets, "status": {"ready": True}})
    assert "status" not in main

    changed = {**widgets, "spec": {"size": 9}, "status": {"ready": True}}
    changed["metadata"] = {**widgets["metadata"], "labels": {"a": "b"}}
    written = cluster.update("widgets", changed, subresource="status")
    assert written["status"] == {"ready": True}
    assert written["spec"] == {"size": 1}
    assert "labels" not in written["metadata"]
    assert written["metadata"]["generation"] == 1


def test_without_a_status_subresource_the_status_is_a_field_like_others(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    created = cluster.create("widgets", widget(status={"ready": False}))

    updated = cluster.update("widgets", {**created, "status": {"ready": True}})

    assert updated["status"] == {"ready": True}
    assert updated["metadata"]["generation"] == 2


def test_a_dry_run_of_an_update_leaves_the_object(cluster: Cluster, stored: JSONObject) -> None:
    answer = cluster.update("configmaps", {**stored, "data": {}}, params={"dryRun": "All"})

    assert "data" not in answer
    assert cluster.get("configmaps", "a") == stored


def test_an_update_creates_what_is_not_there_for_the_kinds_that_have_it_so(cluster: Cluster) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}

    request = cluster.request("update", "leases.coordination.k8s.io", "l", body=lease)
    result = cluster.engine.handle(request)

    assert result.status == 201
    assert cluster.get("leases.coordination.k8s.io", "l")["metadata"]["uid"]
    with pytest.raises(NotFound):
        cluster.update("configmaps", config())


def test_an_update_of_an_object_that_was_there_does_not_create_another(cluster: Cluster) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "uid": "u"}}

    with pytest.raises(Conflict, match="UID in precondition: u"):
        cluster.update("leases.coordination.k8s.io", lease)
