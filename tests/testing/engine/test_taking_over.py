"""What kubectl applied from the client side, and now applies by the server."""

from __future__ import annotations

import json

import pytest

from dynkube.errors import ApplyConflict
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import Cluster, config

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied(**data: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": data}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(managed_fields=True)


@pytest.fixture
def settings(cluster: Cluster) -> JSONObject:
    """Applied from the client side, which is a create with an annotation."""
    obj = {**config(), "data": {"colour": "blue"}}
    obj["metadata"] = {"name": "a", "annotations": {LAST_APPLIED: json.dumps(applied(colour="blue"))}}
    return cluster.create("configmaps", obj, params={"fieldManager": "kubectl-client-side-apply"})


def test_kubectl_may_change_what_it_applied_itself(cluster: Cluster, settings: JSONObject) -> None:
    changed = cluster.apply("configmaps", applied(colour="red"), "kubectl")

    assert changed["data"] == {"colour": "red"}
    assert json.loads(changed["metadata"]["annotations"][LAST_APPLIED]) == applied(colour="red")


def test_other_managers_meet_a_conflict(cluster: Cluster, settings: JSONObject) -> None:
    with pytest.raises(ApplyConflict, match='conflict with "kubectl-client-side-apply" using v1'):
        cluster.apply("configmaps", applied(colour="red"), "somebody")


def test_a_field_that_was_changed_since_is_a_conflict_for_kubectl_too(cluster: Cluster, settings: JSONObject) -> None:
    cluster.patch("configmaps", "a", {"data": {"colour": "green"}}, params={"fieldManager": "painter"})

    with pytest.raises(ApplyConflict, match=r'conflict with "painter" using v1: \.data\.colour'):
        cluster.apply("configmaps", applied(colour="red"), "kubectl")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"apiVersion": "v2", "data": {"colour": "blue"}}'])
def test_an_annotation_that_says_nothing_gives_no_rights(cluster: Cluster, settings: JSONObject, text: str) -> None:
    annotated = {"metadata": {"annotations": {LAST_APPLIED: text}}}
    cluster.patch("configmaps", "a", annotated, params={"fieldManager": "kubectl-client-side-apply"})

    with pytest.raises(ApplyConflict):
        cluster.apply("configmaps", applied(colour="red"), "kubectl")


def test_where_there_is_no_annotation_none_is_written(cluster: Cluster) -> None:
    created = cluster.apply("configmaps", applied(colour="red"), "kubectl")

    assert "annotations" not in created["metadata"]
