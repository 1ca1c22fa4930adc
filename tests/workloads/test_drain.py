"""Draining of a node on the embedded server: what is evicted, skipped, refused, blocked, and cancelled."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Client, Unstructured
from dynkube.errors import InvalidInput, NotFound
from dynkube.telemetry import Observer, RequestInfo, RequestOutcome
from dynkube.workloads import DrainError, DrainReport
from dynkube_testing import APIServer
from tests.workloads.kit import workload

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u1", "controller": True}
DAEMON_SET = {**OWNER, "kind": "DaemonSet", "name": "agent"}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}
EMPTY_DIR: dict[str, Any] = {"volumes": [{"name": "cache", "emptyDir": {}}]}


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with two nodes, which keeps pods whose owners do not exist."""
    async with APIServer(garbage_collection=False) as server:
        for name in ("n1", "n2"):
            server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        yield server


async def place(client: Client, *objects: dict[str, Any]) -> None:
    """Create objects with their status."""
    for obj in objects:
        resource = client.resource(Unstructured(obj).gvk)
        created = await resource.create(obj)
        if "status" in obj:
            await resource.update_status(created.evolve(status=obj["status"]))


def pod(
    name: str, node: str = "n1", *, owner: dict[str, Any] | None = OWNER, phase: str = "Running", **spec: Any
) -> dict[str, Any]:
    """Return a running pod of a node, which has a controller."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "labels": {"app": name.partition("-")[0]}}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    full = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}], **spec}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": full,
        "status": {"phase": phase, "conditions": ready},
    }


def outcomes(report: DrainReport) -> dict[str, str]:
    return {each.object.name: each.outcome.value for each in report.pods}


async def allow(client: Client, number: int) -> None:
    """Let a budget allow so many evictions, as the disruption controller would."""
    budgets = client.resource("poddisruptionbudgets")
    live = await budgets.get("web")
    status = {"observedGeneration": live.generation, "disruptionsAllowed": number, "expectedPods": 2}
    status |= {"currentHealthy": 2, "desiredHealthy": 1}
    await budgets.update_status(live.evolve(status=status))


async def test_the_pods_of_a_node_are_evicted_and_it_is_cordoned(client: Client) -> None:
    await place(client, pod("web-1"), pod("web-2"), pod("web-3", "n2"))

    report = await client.drain("n1")

    assert report.ok
    assert outcomes(report) == {"web-1": "evicted", "web-2": "evicted"}
    assert [each.name for each in await client.resource("pods").list()] == ["web-3"]
    assert (await client.resource("nodes").get("n1"))["spec"]["unschedulable"] is True
    assert not (await client.uncordon("n1"))["spec"].get("unschedulable")


@pytest.mark.parametrize(
    ("obj", "option", "reason"),
    [
        (pod("agent-1", owner=DAEMON_SET), "ignore_daemonsets", "managed by a DaemonSet: pass ignore_daemonsets=True"),
        (pod("web-1", **EMPTY_DIR), "delete_emptydir_data", "emptyDir volumes: pass delete_emptydir_data=True"),
        (pod("web-1", owner=None), "force", "no controller that would create it again: pass force=True"),
    ],
)
async def test_a_pod_that_would_be_lost_is_refused_and_none_is_evicted(
    client: Client, obj: dict[str, Any], option: str, reason: str
) -> None:
    await place(client, workload("DaemonSet", "agent"))
    await place(client, obj, pod("other-1"))

    with pytest.raises(DrainError, match="node 'n1' is cordoned, but nothing was evicted: default/") as caught:
        await client.drain("n1")
    assert reason in str(caught.value)
    assert len(await client.resource("pods").list()) == 2

    allowed: dict[str, Any] = {option: True}
    report = await client.drain("n1", **allowed)
    assert report.ok
    assert outcomes(report)["other-1"] == "evicted"


async def test_pods_of_daemon_sets_and_static_pods_stay_on_the_node(client: Client) -> None:
    await place(client, workload("DaemonSet", "agent"))
    static = pod("static-1", owner=None)
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    await place(client, pod("agent-1", owner=DAEMON_SET), static)

    report = await client.drain("n1", ignore_daemonsets=True)

    assert outcomes(report) == {"agent-1": "skipped", "static-1": "skipped"}
    assert (report.ok, report.progress) == (True, 1.0)


async def test_finished_pods_are_evicted_whatever_they_have(client: Client) -> None:
    await place(
        client, pod("a", owner=None, phase="Succeeded", **EMPTY_DIR), pod("b", owner=DAEMON_SET, phase="Failed")
    )

    assert outcomes(await client.drain("n1")) == {"a": "evicted", "b": "evicted"}


async def test_a_pod_whose_daemon_set_is_gone_needs_force(client: Client) -> None:
    await place(client, pod("agent-1", owner=DAEMON_SET))

    with pytest.raises(DrainError, match="its DaemonSet cannot be read"):
        await client.drain("n1", ignore_daemonsets=True)
    assert outcomes(await client.drain("n1", force=True)) == {"agent-1": "evicted"}


async def test_an_eviction_that_a_budget_blocks_is_tried_again(client: Client) -> None:
    await place(client, BUDGET, pod("web-1"), pod("web-2"), pod("other-1"))
    await allow(client, 1)
    reports: list[DrainReport] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(client.drain, "n1", on_report=reports.append))
        await trio.sleep(12)
        (blocked,) = [each for each in reports[-1].pods if each.outcome == "blocked"]
        await allow(client, 1)

    assert "disruption budget" in blocked.reason
    assert outcomes(reports[-1]) == {"web-1": "evicted", "web-2": "evicted", "other-1": "evicted"}
    assert [each.progress for each in reports] == sorted(each.progress for each in reports)
    assert 12 < trio.current_time() <= 22


async def test_a_drain_that_is_too_late_names_the_pods_that_are_left(client: Client) -> None:
    await place(client, BUDGET, pod("web-1"), pod("other-1"))
    await allow(client, 0)

    with pytest.raises(DrainError, match="not drained within 60 s: default/web-1 blocked: Cannot evict pod") as caught:
        await client.drain("n1", timeout=60)

    assert outcomes(caught.value.report) == {"other-1": "evicted", "web-1": "blocked"}
    assert trio.current_time() == 60


async def test_a_cancelled_drain_leaves_the_node_cordoned_and_says_so(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await place(client, BUDGET, pod("web-1"), pod("other-1"))
    await allow(client, 0)

    with caplog.at_level(logging.WARNING), trio.move_on_after(7):
        await client.drain("n1")

    (message,) = caplog.messages
    assert message.startswith("the drain was cancelled: node 'n1' remains cordoned, with 1 blocked, 1 evicted: ")
    assert (await client.resource("nodes").get("n1"))["spec"]["unschedulable"] is True


async def test_a_terminating_pod_is_waited_for(client: Client) -> None:
    await place(client, pod("web-1", terminationGracePeriodSeconds=30))
    created = await client.resource("pods").get("web-1")
    held = await client.resource("pods").patch("web-1", {"metadata": {"finalizers": ["example.com/hold"]}})
    reports: list[DrainReport] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(client.drain, "n1", grace_period=0, on_report=reports.append))
        await trio.sleep(100)
        assert outcomes(reports[-1]) == {"web-1": "terminating"}
        await client.resource("pods").patch("web-1", {"metadata": {"finalizers": None}})

    assert held.uid == created.uid
    assert outcomes(reports[-1]) == {"web-1": "evicted"}


async def test_a_selector_and_a_dry_run_evict_less(client: Client) -> None:
    await place(client, pod("web-1"), pod("other-1"))

    dry = await client.drain("n1", dry_run=True)
    assert outcomes(dry) == {"other-1": "evicted", "web-1": "evicted"}
    assert not (await client.resource("nodes").get("n1"))["spec"].get("unschedulable")
    chosen = await client.drain("n1", pod_selector={"app": "web"})

    assert outcomes(chosen) == {"web-1": "evicted"}
    assert [each.name for each in await client.resource("pods").list()] == ["other-1"]


async def test_without_evictions_a_budget_does_not_count(client: Client) -> None:
    await place(client, BUDGET, pod("web-1"))
    await allow(client, 0)

    assert outcomes(await client.drain("n1", disable_eviction=True)) == {"web-1": "evicted"}


class InFlight(Observer):
    """Counts the requests in flight that remove pods."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def request_started(self, request: RequestInfo) -> None:
        self.now += request.subresource == "eviction"
        self.most = max(self.most, self.now)

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        self.now -= request.subresource == "eviction"


@pytest.mark.parametrize("parallel", [2, 5])
async def test_concurrent_requests_are_bounded(server: APIServer, parallel: int) -> None:
    counter = InFlight()
    async with dynkube.connect(transport=server.transport(), observers=[counter]) as client:
        await place(client, *(pod(f"web-{number}") for number in range(12)))

        report = await client.drain("n1", parallel=parallel)

    assert report.summary == "12 evicted"
    assert counter.most == parallel


async def test_a_node_that_does_not_exist_and_invalid_arguments_are_errors(client: Client) -> None:
    with pytest.raises(NotFound, match="n9"):
        await client.drain("n9")
    with pytest.raises(InvalidInput, match="parallel is 0: pass an integer >= 1"):
        await client.drain("n1", parallel=0)
    with pytest.raises(InvalidInput, match="grace_period is -1: pass an integer >= 0"):
        await client.drain("n1", grace_period=-1)
    with pytest.raises(InvalidInput, match="force is 'yes': pass True or False"):
        await client.drain("n1", force="yes")  # type: ignore[arg-type]


async def test_an_error_in_on_report_ends_the_drain(client: Client) -> None:
    await place(client, pod("web-1"))

    def fail(report: DrainReport) -> None:
        if report.ok:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await client.drain("n1", on_report=fail)


async def test_a_report_is_a_table_with_a_progress_bar(client: Client) -> None:
    await place(client, pod("web-1"), pod("web-2"))
    assert isinstance(await client.cordon("n1"), Unstructured)

    bar, head, *rows = str(await client.drain("n1")).splitlines()

    assert bar == f"{'█' * 30} 2 evicted"
    assert head.split() == ["OUTCOME", "NAMESPACE", "POD", "REASON"]
    assert [row.split() for row in rows] == [["evicted", "default", "web-1"], ["evicted", "default", "web-2"]]
