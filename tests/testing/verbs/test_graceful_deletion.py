"""Pods are given time to end: how much is written down, and with no kubelet it is over at once."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import Cluster, seen

HELD = "test.example.com/held"


def pod(**spec: Any) -> JSONObject:
    containers = [{"name": "a", "image": "b"}]
    return {"metadata": {"name": "p", "finalizers": [HELD]}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("spec", "options", "seconds"),
    [
        ({}, {"gracePeriodSeconds": 7}, 0),
        ({"nodeName": "n"}, {}, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 5}, {}, 5),
        ({"nodeName": "n"}, {"gracePeriodSeconds": 7}, 7),
        ({"nodeName": "n"}, {"gracePeriodSeconds": 0}, 0),
        ({"nodeName": "n"}, {"gracePeriodSeconds": -5}, 1),
    ],
)
def test_a_scheduled_pod_gets_time(bare: Cluster, spec: dict[str, Any], options: dict[str, Any], seconds: int) -> None:
    bare.create("pods", pod(**spec))

    answer = bare.delete("pods", "p", body=options)["metadata"]

    assert answer["deletionGracePeriodSeconds"] == seconds
    assert answer["deletionTimestamp"] == f"2026-01-02T03:04:{5 + seconds:02}Z"
    assert answer["generation"] == 2


def test_a_pod_that_has_ended_gets_none(bare: Cluster) -> None:
    bare.create("pods", pod(nodeName="n"))
    bare.patch("pods", "p", {"status": {"phase": "Succeeded"}}, subresource="status")

    assert bare.delete("pods", "p")["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_watches_see_a_pod_marked_and_then_gone(cluster: Cluster) -> None:
    cluster.create("pods", {**pod(nodeName="n"), "metadata": {"name": "p"}})
    stream = cluster.watch("pods", resourceVersion=str(cluster.engine.revision))

    answer = cluster.delete("pods", "p")

    assert answer["kind"] == "Pod"
    marked, *others = await cluster.rest_of(stream)
    assert seen([marked]) == [("MODIFIED", "p")]
    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 30
    assert seen(others)[-1] == ("DELETED", "p")


def test_an_unscheduled_pod_is_answered_with_as_it_went(cluster: Cluster) -> None:
    cluster.create("pods", {**pod(), "metadata": {"name": "p"}})

    answer = cluster.delete("pods", "p", body={"gracePeriodSeconds": 7})

    assert (answer["kind"], answer["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert answer["metadata"]["resourceVersion"] == str(cluster.engine.revision)
    assert cluster.names("pods") == []


def test_a_dry_run_shows_the_grace_period_and_changes_nothing(cluster: Cluster) -> None:
    created = cluster.create("pods", pod(nodeName="n"))

    answer = cluster.delete("pods", "p", body={"dryRun": ["All"]})

    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert cluster.get("pods", "p") == created
