"""The ``scale`` subresource: three fields of an object as an autoscaling/v1 Scale."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest, Conflict, InternalError, Invalid
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, version, widget, workload

PATHS = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.sel"}


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.create(CRDS, definition(versions=[version(subresources={"status": {}, "scale": PATHS})]))
    created = cluster.create("widgets", widget(spec={"size": 3, "color": "red"}))
    cluster.update("widgets", {**created, "status": {"size": 2, "sel": "app=w"}}, subresource="status")
    return cluster


@pytest.fixture
def scale(cluster: Cluster) -> JSONObject:
    return cluster.get("widgets", "w", subresource="scale")


def test_a_scale_shows_what_the_paths_point_to(cluster: Cluster, scale: JSONObject) -> None:
    metadata = cluster.get("widgets", "w")["metadata"]
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "app=w"}
    assert scale["metadata"]["uid"] == metadata["uid"]
    assert scale["metadata"]["resourceVersion"] == metadata["resourceVersion"]


def test_writing_a_scale_changes_the_replicas_and_the_generation(cluster: Cluster, scale: JSONObject) -> None:
    answer = cluster.update("widgets", {**scale, "spec": {"replicas": 7}}, subresource="scale")

    assert (answer["kind"], answer["spec"]) == ("Scale", {"replicas": 7})
    written = cluster.get("widgets", "w")
    assert written["spec"] == {"size": 7, "color": "red"}
    assert written["metadata"]["generation"] == 2
    with pytest.raises(Conflict):
        cluster.update("widgets", scale, subresource="scale")


def test_a_scale_can_be_patched(cluster: Cluster) -> None:
    answer = cluster.patch("widgets", "w", {"spec": {"replicas": 5}}, subresource="scale")

    assert answer["spec"] == {"replicas": 5}


def test_the_selector_of_a_workload_is_written_as_text(cluster: Cluster) -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["b", "a"]},
        {"key": "x", "operator": "Exists"},
        {"key": "y", "operator": "DoesNotExist"},
    ]
    deployment = workload(replicas=2, selector={"matchLabels": {"app": "d"}, "matchExpressions": expressions})
    deployment["spec"]["template"]["metadata"]["labels"] = {"app": "d", "tier": "a", "x": ""}
    cluster.create("deployments", deployment)

    shown = cluster.get("deployments", "d", subresource="scale")

    assert shown["status"] == {"replicas": 0, "selector": "app=d,tier in (a,b),x,!y"}


def test_replicas_that_are_no_number_or_negative_are_refused(cluster: Cluster, scale: JSONObject) -> None:
    with pytest.raises(Invalid, match=r'Widget.example.com "w" is invalid: .spec.size: Invalid value: -1'):
        cluster.update("widgets", {**scale, "spec": {"replicas": -1}}, subresource="scale")
    with pytest.raises(BadRequest, match=r"no kind is registered for the type v1\.Scale"):
        cluster.update("widgets", {**scale, "spec": {"replicas": "many"}}, subresource="scale")
    with pytest.raises(BadRequest, match="must be an autoscaling/v1 Scale"):
        cluster.call("update", "widgets", "w", subresource="scale", body=widget())


def test_a_custom_object_without_the_field_has_no_scale(cluster: Cluster) -> None:
    cluster.create("widgets", widget("bare"))

    with pytest.raises(InternalError, match=r'the spec replicas field ".spec.size" does not exist'):
        cluster.get("widgets", "bare", subresource="scale")
