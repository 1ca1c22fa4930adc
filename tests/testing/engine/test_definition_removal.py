"""CustomResourceDefinitions going: their objects first, then the watches, then the definition; and coming back."""

from __future__ import annotations

import pytest

from dynkube.errors import Forbidden, NotFound
from tests.testing.engine.cluster import CRDS, Cluster, conditions, definition, read_ended, seen, widget

NAME = "widgets.example.com"


async def test_objects_go_first_then_watches_end_then_the_definition_is_gone(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    for name in ("a", "b"):
        cluster.create("widgets", widget(name))
    start = str(cluster.engine.revision)
    objects = cluster.watch("widgets", resourceVersion=start)
    definitions = cluster.watch(CRDS, resourceVersion=start)

    answer = cluster.delete(CRDS, NAME)

    assert conditions(answer)["Terminating"] == ("True", "InstanceDeletionPending")
    assert answer["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    gone = await read_ended(objects)
    assert seen(gone) == [("DELETED", "a"), ("DELETED", "b")]
    last = (await cluster.rest_of(definitions))[-1]
    assert last["type"] == "DELETED"
    assert int(last["object"]["metadata"]["resourceVersion"]) > int(gone[-1]["object"]["metadata"]["resourceVersion"])
    assert not cluster.serves("widgets.v1.example.com")
    with pytest.raises(NotFound):
        cluster.get(CRDS, NAME)


def test_an_object_with_a_finalizer_keeps_its_definition_and_nothing_new_comes(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    held = widget()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create("widgets", held)

    cluster.delete(CRDS, NAME)

    assert conditions(cluster.get(CRDS, NAME))["Terminating"] == ("True", "InstanceDeletionInProgress")
    assert cluster.names("widgets") == ["w"]
    with pytest.raises(Forbidden, match="create not allowed while custom resource definition is terminating"):
        cluster.create("widgets", widget("new"))

    cluster.patch("widgets", "w", {"metadata": {"finalizers": None}})
    assert not cluster.serves("widgets.v1.example.com")


async def test_a_definition_comes_back_with_another_uid_scope_and_no_objects(cluster: Cluster) -> None:
    before = cluster.create(CRDS, definition())
    cluster.create("widgets", widget())
    cluster.delete(CRDS, NAME)

    after = cluster.create(CRDS, definition(scope="Cluster"))

    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert cluster.kind("widgets").crd_uid == after["metadata"]["uid"]
    assert not cluster.kind("widgets").namespaced
    assert cluster.names("widgets") == []
    cluster.create("widgets", widget("root"))
    assert seen(await cluster.rest_of(cluster.watch("widgets"))) == [("ADDED", "root")]


def test_a_definition_that_serves_nothing_takes_its_objects_along(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    cluster.create("widgets", widget())
    (stored,) = cluster.get(CRDS, NAME)["spec"]["versions"]
    cluster.patch(CRDS, NAME, {"spec": {"versions": [{**stored, "served": False}]}})

    cluster.delete(CRDS, NAME)
    cluster.create(CRDS, definition())

    assert cluster.names("widgets") == []


def test_a_definition_with_a_finalizer_of_its_own_stays_without_objects(cluster: Cluster) -> None:
    body = definition()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(CRDS, body)
    cluster.create("widgets", widget())

    cluster.delete(CRDS, NAME)

    kept = cluster.get(CRDS, NAME)
    assert kept["metadata"]["finalizers"] == ["example.com/hold"]
    assert conditions(kept)["Terminating"] == ("False", "InstanceDeletionCompleted")
    cluster.patch(CRDS, NAME, {"metadata": {"finalizers": None}})
    assert not cluster.serves("widgets.v1.example.com")
