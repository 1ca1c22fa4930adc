"""Graceful deletion of pods: the grace periods that the server sets. There are no kubelets."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from dynkube_testing import APIServer
from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import JSONObject, pod

HELD = "example.com/hold"


def _held(**spec: Any) -> JSONObject:
    """Return a pod with a finalizer, which keeps it after the grace period."""
    made = pod(**spec)
    made["metadata"]["finalizers"] = [HELD]
    return made


@pytest.mark.parametrize(
    ("spec", "options", "seconds"),
    [
        ({}, {}, 0),
        ({}, {"gracePeriodSeconds": 7}, 0),
        ({"nodeName": "n"}, {}, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 5}, {}, 5),
        ({"nodeName": "n"}, {"gracePeriodSeconds": 7}, 7),
        ({"nodeName": "n"}, {"gracePeriodSeconds": 0}, 0),
    ],
)
async def test_only_a_scheduled_pod_has_a_grace_period(
    cluster: Cluster, spec: dict[str, Any], options: dict[str, Any], seconds: int
) -> None:
    created = (await cluster.create("pods", _held(**spec)))["metadata"]

    marked = (await cluster.delete("pods", "p", body=options))["metadata"]

    assert marked["deletionGracePeriodSeconds"] == seconds
    passed = _time(marked["deletionTimestamp"]) - _time(created["creationTimestamp"])
    assert timedelta(seconds=seconds) <= passed < timedelta(seconds=seconds + 20)
    assert marked.get("generation") == (2 if cluster.version >= (1, 33) else None)


async def test_a_negative_grace_period_becomes_one_second(cluster: Cluster) -> None:
    await cluster.create("pods", _held(nodeName="n"))

    marked = await cluster.delete("pods", "p", body={"gracePeriodSeconds": -5})

    shortest = 1 if cluster.version >= (1, 27) else -5  # old servers do not change it
    assert marked["metadata"]["deletionGracePeriodSeconds"] == shortest


async def test_a_second_delete_can_only_shorten_the_grace_period(cluster: Cluster, server: APIServer | None) -> None:
    if server is not None:
        pytest.skip("the embedded server deletes pods before a second request")
    await cluster.create("pods", _held(nodeName="n"))

    periods = []
    for seconds in (500, 600, 400, 450, 0):
        marked = await cluster.delete("pods", "p", body={"gracePeriodSeconds": seconds})
        periods.append(marked["metadata"]["deletionGracePeriodSeconds"])

    assert periods == [500, 500, 400, 400, 0]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_has_ended_has_no_grace_period(cluster: Cluster, phase: str) -> None:
    await cluster.create("pods", _held(nodeName="n"))
    await cluster.patch("pods/status", "p", {"status": {"phase": phase}})

    marked = await cluster.delete("pods", "p")

    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_a_watch_sees_a_pod_modified_and_then_deleted(cluster: Cluster) -> None:
    created = await cluster.create("pods", pod(nodeName="n"))

    async with cluster.watch("pods", resourceVersion=created["metadata"]["resourceVersion"]) as events:
        response = await cluster.delete("pods", "p", body={"gracePeriodSeconds": 500})
        marked = await events.next()
        # A kubelet sends this request when the containers have ended. The embedded server deletes the pod by itself.
        await cluster.call("DELETE", cluster.path("pods", "p"), body={"gracePeriodSeconds": 0})
        gone = await events.next()
        while gone["type"] != "DELETED":
            gone = await events.next()

    assert (response["kind"], marked["type"]) == ("Pod", "MODIFIED")
    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 500
    assert gone["object"]["metadata"]["name"] == "p"


async def test_the_response_to_deleting_an_unscheduled_pod_is_the_pod(cluster: Cluster) -> None:
    await cluster.create("pods", pod())

    response = await cluster.delete("pods", "p", body={"gracePeriodSeconds": 7})

    assert (response["kind"], response["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert await cluster.names("pods") == []


async def test_a_dry_run_shows_the_grace_period_and_changes_nothing(cluster: Cluster) -> None:
    created = await cluster.create("pods", _held(nodeName="n"))

    response = await cluster.delete("pods", "p", body={"dryRun": ["All"]})

    assert response["metadata"]["deletionGracePeriodSeconds"] == 30
    assert await cluster.get("pods", "p") == created


async def test_pods_of_a_deleted_collection_have_grace_periods(cluster: Cluster) -> None:
    await cluster.create("pods", _held(nodeName="n"))
    created = await cluster.create("pods", pod("unscheduled"))

    async with cluster.watch("pods", resourceVersion=created["metadata"]["resourceVersion"]) as events:
        await cluster.delete_all("pods", gracePeriodSeconds="7")
        marked = await events.next()

    assert types_and_names([marked]) == [("MODIFIED", "p")]
    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 7
    assert await cluster.names("pods") == ["p"]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
