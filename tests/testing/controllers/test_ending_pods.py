"""Pods that are being deleted end at once, as there is no kubelet that runs their containers."""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject
from tests.contract.events import types_and_names
from tests.testing.engine.cluster import Cluster

HELD = "test.example.com/held"


def _scheduled(**metadata: object) -> JSONObject:
    containers = [{"name": "a", "image": "b"}]
    return {"metadata": {"name": "p", **metadata}, "spec": {"containers": containers, "nodeName": "n"}}


async def test_deleting_a_pod_sends_modified_and_deleted_events(cluster: Cluster) -> None:
    cluster.create("pods", _scheduled())
    stream = cluster.watch("pods", resourceVersion=str(cluster.engine.storage.revision))

    response = cluster.delete("pods", "p")

    assert response["metadata"]["deletionGracePeriodSeconds"] == 30
    assert types_and_names(await cluster.rest_of(stream)) == [("MODIFIED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]


def test_a_deleted_pod_with_finalizers_stays_with_a_grace_period_of_zero(cluster: Cluster) -> None:
    cluster.create("pods", _scheduled(finalizers=[HELD]))

    cluster.delete("pods", "p")

    remaining = cluster.get("pods", "p")["metadata"]
    assert (remaining["deletionGracePeriodSeconds"], remaining["finalizers"]) == (0, [HELD])
