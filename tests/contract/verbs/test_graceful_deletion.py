"""Pods are given time to end: how much is written down. Who has it is up to a kubelet, and to the clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from dynkube.testing import APIServer
from tests.contract.cluster import Cluster
from tests.contract.events import seen
from tests.contract.objects import JSONObject, pod

HELD = "example.com/hold"


def _held(**spec: Any) -> JSONObject:
    """A pod that is still there when its time is over."""
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
async def test_a_scheduled_pod_gets_time(
    cluster: Cluster, spec: dict[str, Any], options: dict[str, Any], seconds: int
) -> None:
    created = (await cluster.create("pods", _held(**spec)))["metadata"]

    marked = (await cluster.delete("pods", "p", body=options))["metadata"]

    assert marked["deletionGracePeriodSeconds"] == seconds
    passed = _time(marked["deletionTimestamp"]) - _time(created["creationTimestamp"])
    assert timedelta(seconds=seconds) <= passed < timedelta(seconds=seconds + 20)
    assert marked.get("generation") == (2 if cluster.version >= (1, 33) else None)


async def test_a_negative_period_is_the_shortest(cluster: Cluster) -> None:
    await cluster.create("pods", _held(nodeName="n"))

    marked = await cluster.delete("pods", "p", body={"gracePeriodSeconds": -5})

    shortest = 1 if cluster.version >= (1, 27) else -5  # an old server takes it as it is
    assert marked["metadata"]["deletionGracePeriodSeconds"] == shortest


async def test_the_time_can_become_shorter_and_never_longer(cluster: Cluster, server: APIServer | None) -> None:
    if server is not None:
        pytest.skip("pods end at once, before anybody can ask again")
    await cluster.create("pods", _held(nodeName="n"))

    periods = []
    for seconds in (500, 600, 400, 450, 0):
        marked = await cluster.delete("pods", "p", body={"gracePeriodSeconds": seconds})
        periods.append(marked["metadata"]["deletionGracePeriodSeconds"])

    assert periods == [500, 500, 400, 400, 0]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_has_ended_gets_none(cluster: Cluster, phase: str) -> None:
    await cluster.create("pods", _held(nodeName="n"))
    await cluster.patch("pods/status", "p", {"status": {"phase": phase}})

    marked = await cluster.delete("pods", "p")

    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_watches_see_a_pod_marked_and_then_gone(cluster: Cluster) -> None:
    created = await cluster.create("pods", pod(nodeName="n"))

    async with cluster.watch("pods", resourceVersion=created["metadata"]["resourceVersion"]) as events:
        answer = await cluster.delete("pods", "p", body={"gracePeriodSeconds": 500})
        marked = await events.next()
        # What a kubelet says when the containers have ended. The embedded server has done so by itself.
        await cluster.call("DELETE", cluster.path("pods", "p"), body={"gracePeriodSeconds": 0})
        gone = await events.next()
        while gone["type"] != "DELETED":
            gone = await events.next()

    assert (answer["kind"], marked["type"]) == ("Pod", "MODIFIED")
    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 500
    assert gone["object"]["metadata"]["name"] == "p"


async def test_an_unscheduled_pod_is_answered_with_as_it_went(cluster: Cluster) -> None:
    await cluster.create("pods", pod())

    answer = await cluster.delete("pods", "p", body={"gracePeriodSeconds": 7})

    assert (answer["kind"], answer["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert await cluster.names("pods") == []


async def test_a_dry_run_shows_the_grace_period_and_changes_nothing(cluster: Cluster) -> None:
    created = await cluster.create("pods", _held(nodeName="n"))

    answer = await cluster.delete("pods", "p", body={"dryRun": ["All"]})

    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert await cluster.get("pods", "p") == created


async def test_a_collection_of_pods_is_given_time_as_each_alone(cluster: Cluster) -> None:
    await cluster.create("pods", _held(nodeName="n"))
    created = await cluster.create("pods", pod("unscheduled"))

    async with cluster.watch("pods", resourceVersion=created["metadata"]["resourceVersion"]) as events:
        await cluster.delete_all("pods", gracePeriodSeconds="7")
        marked = await events.next()

    assert seen([marked]) == [("MODIFIED", "p")]
    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 7
    assert await cluster.names("pods") == ["p"]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
