"""Server-side apply of objects that ``kubectl apply`` has created with client-side apply."""

from __future__ import annotations

import json

import pytest

from dynkube.errors import ApplyConflict
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied(**data: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


@pytest.fixture
async def settings(cluster: Cluster) -> JSONObject:
    """An object of client-side apply, which is a create with an annotation."""
    obj = {**config(), "data": {"colour": "blue"}}
    obj["metadata"] = {"name": "a", "annotations": {LAST_APPLIED: json.dumps(applied(colour="blue"))}}
    return await cluster.create("configmaps", obj, params={"fieldManager": "kubectl-client-side-apply"})


async def test_kubectl_can_change_the_fields_of_its_client_side_apply(cluster: Cluster, settings: JSONObject) -> None:
    changed = await cluster.apply("configmaps", applied(colour="red"), "kubectl")

    assert changed["data"] == {"colour": "red"}
    assert json.loads(changed["metadata"]["annotations"][LAST_APPLIED]) == applied(colour="red")


async def test_other_managers_get_a_conflict(cluster: Cluster, settings: JSONObject) -> None:
    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("configmaps", applied(colour="red"), "somebody")
    assert 'conflict with "kubectl-client-side-apply" using v1' in caught.value.status.message


@pytest.mark.since("1.22", "the conflict also had kubectl's entry")
async def test_a_field_changed_by_another_manager_is_a_conflict_for_kubectl(
    cluster: Cluster, settings: JSONObject
) -> None:
    await cluster.patch("configmaps", "a", {"data": {"colour": "green"}}, params={"fieldManager": "painter"})

    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("configmaps", applied(colour="red"), "kubectl")
    assert 'conflict with "painter" using v1: .data.colour' in caught.value.status.message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"apiVersion": "v2", "data": {"colour": "blue"}}'])
async def test_with_an_invalid_annotation_kubectl_gets_a_conflict(
    cluster: Cluster, settings: JSONObject, text: str
) -> None:
    annotated = {"metadata": {"annotations": {LAST_APPLIED: text}}}
    await cluster.patch("configmaps", "a", annotated, params={"fieldManager": "kubectl-client-side-apply"})

    with pytest.raises(ApplyConflict):
        await cluster.apply("configmaps", applied(colour="red"), "kubectl")


async def test_no_annotation_is_added(cluster: Cluster) -> None:
    created = await cluster.apply("configmaps", applied(colour="red"), "kubectl")

    assert "annotations" not in created["metadata"]
