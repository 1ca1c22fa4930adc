"""One answer of a server that is starting, or of a proxy, ends no drain and no rollout."""

from __future__ import annotations

import pytest
import trio

from dynkube import Client
from dynkube.errors import DynkubeError
from dynkube.workloads import DrainError, DrainReport
from dynkube_testing import APIServer
from tests.suite.transient import TRANSIENT
from tests.workloads.kit import with_status, workload
from tests.workloads.test_drain import DAEMON_SET, outcomes, place, pod, server

__all__ = ["server"]  # a fixture

NOT_FOUND = ["404 page", "404 Status without a name"]


@pytest.mark.parametrize("answer", NOT_FOUND)
async def test_a_pod_counts_as_gone_only_if_its_eviction_says_so(
    server: APIServer, client: Client, answer: str
) -> None:
    await place(client, pod("web-1"))
    server.inject(TRANSIENT[answer], verb="create", resource="pods", times=1)
    reports: list[DrainReport] = []

    report = await client.drain("n1", on_report=reports.append)

    assert outcomes(report) == {"web-1": "evicted"}
    assert [outcomes(each)["web-1"] for each in reports] == ["waiting", "blocked", "terminating", "evicted"]
    assert server.list("pods") == []


@pytest.mark.parametrize("answer", ["403 HTML", "403 Status"])
async def test_a_denial_of_a_moment_blocks_an_eviction_and_does_not_fail_it(
    server: APIServer, client: Client, answer: str
) -> None:
    await place(client, pod("web-1"))
    server.inject(TRANSIENT[answer], verb="create", resource="pods", times=1)
    reports: list[DrainReport] = []

    await client.drain("n1", on_report=reports.append)

    assert [outcomes(each)["web-1"] for each in reports] == ["waiting", "blocked", "terminating", "evicted"]


@pytest.mark.parametrize(("answer", "seconds"), [("403 HTML", 5), ("403 Status", 60)])
async def test_a_denial_that_lasts_fails_an_eviction(
    server: APIServer, client: Client, answer: str, seconds: float
) -> None:
    await place(client, pod("web-1"))
    server.inject(TRANSIENT[answer], verb="create", resource="pods")

    with pytest.raises(DrainError, match="web-1 failed"):
        await client.drain("n1")

    assert trio.current_time() == pytest.approx(seconds, abs=1)


@pytest.mark.parametrize("answer", TRANSIENT)
async def test_a_daemon_set_that_is_not_found_for_a_moment_still_manages_its_pods(
    server: APIServer, client: Client, answer: str
) -> None:
    daemon_set = await client.resource("daemonsets").create(workload("DaemonSet", "agent"))
    await place(client, pod("agent-1", owner={**DAEMON_SET, "uid": daemon_set.uid}))
    server.inject(TRANSIENT[answer], verb="get", resource="daemonsets", duration=100)

    with pytest.raises((DrainError, DynkubeError)):
        await client.drain("n1", force=True, ignore_daemonsets=True)

    assert [each["metadata"]["name"] for each in server.list("pods")] == ["agent-1"]


@pytest.mark.parametrize("skip", range(4))
@pytest.mark.parametrize("answer", TRANSIENT)
async def test_a_transient_answer_completes_no_rollout(
    server: APIServer, client: Client, answer: str, skip: int
) -> None:
    web = await client.resource("deploy").create(workload(replicas=1))
    await with_status(client, web, {"replicas": 1, "updatedReplicas": 0})
    server.inject(TRANSIENT[answer], resource="deployments", skip=skip, times=1)

    with trio.move_on_after(120), pytest.raises(DynkubeError) as raised:
        await client.rollout("deploy", "web").wait(timeout=60)

    assert "was deleted" not in str(raised.value)
