"""Pods that are being deleted end at once: nobody runs their containers."""

from __future__ import annotations

from dynkube.testing._calls.api import JSONObject
from tests.contract.events import seen
from tests.testing.engine.cluster import Cluster

HELD = "test.example.com/held"


def _scheduled(**metadata: object) -> JSONObject:
    containers = [{"name": "a", "image": "b"}]
    return {"metadata": {"name": "p", **metadata}, "spec": {"containers": containers, "nodeName": "n"}}


async def test_watches_see_a_pod_marked_and_then_gone(cluster: Cluster) -> None:
    cluster.create("pods", _scheduled())
    stream = cluster.watch("pods", resourceVersion=str(cluster.engine.revision))

    answer = cluster.delete("pods", "p")

    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert seen(await cluster.rest_of(stream)) == [("MODIFIED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]


def test_a_pod_with_finalizers_stays_without_time_left(cluster: Cluster) -> None:
    cluster.create("pods", _scheduled(finalizers=[HELD]))

    cluster.delete("pods", "p")

    left = cluster.get("pods", "p")["metadata"]
    assert (left["deletionGracePeriodSeconds"], left["finalizers"]) == (0, [HELD])
