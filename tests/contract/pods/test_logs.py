"""Logs of pods that no kubelet runs: what is missing is named, and waited for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

import dynkube
from dynkube.errors import Forbidden, InvalidInput, LogUnavailable, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, pod

Connect = Callable[..., dynkube.Client]


def two_containers() -> JSONObject:
    body = pod()
    body["spec"]["containers"].append({**body["spec"]["containers"][0], "name": "proxy"})
    return body


async def test_a_pod_without_a_node_has_no_log(cluster: Cluster, connect: Connect) -> None:
    await cluster.create("pods", pod())
    async with connect() as client:
        with pytest.raises(LogUnavailable, match=r"of pod .*/p has no log: Pending.*; follow=True waits for it"):
            await client.pod("p", namespace=cluster.namespace).read_logs()


async def test_a_pod_that_does_not_exist_is_not_found(cluster: Cluster, connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(NotFound, match='pods "none" not found'):
            async with client.pod("none", namespace=cluster.namespace).logs(follow=True):
                pass


async def test_the_containers_of_the_pod_are_named(cluster: Cluster, connect: Connect) -> None:
    created = await cluster.create("pods", two_containers())
    names = ", ".join(each["name"] for each in created["spec"]["containers"])
    async with connect() as client:
        handle = client.pod("p", namespace=cluster.namespace)
        with pytest.raises(InvalidInput, match=f"/p has the containers {names}: pass container="):
            await handle.read_logs()
        with pytest.raises(InvalidInput, match=f"/p has no container 'db'; it has {names}"):
            await handle.read_logs(container="db")


async def test_a_pod_is_waited_for_until_it_is_deleted(cluster: Cluster, connect: Connect) -> None:
    await cluster.create("pods", pod())
    async with (
        connect() as client,
        client.pod("p", namespace=cluster.namespace).logs(follow=True) as lines,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(cluster.delete, "pods", "p")
        with trio.fail_after(60):
            assert [str(line) async for line in lines] == []

    assert lines.reason == "the pod was deleted"


async def test_many_pods_without_nodes_have_no_lines(cluster: Cluster, connect: Connect) -> None:
    await cluster.create("pods", pod())
    async with connect() as client, client.logs(namespace=cluster.namespace, follow=False) as lines:
        assert [str(line) async for line in lines] == []

    ((name, state, reason),) = [(each.pod, each.state, each.reason) for each in lines.containers]
    assert (name, state) == ("p", "ended")
    assert reason.endswith("has no log: the pod has no node; follow=True waits for it")


async def test_a_missing_permission_is_named(cluster: Cluster, connect: Connect) -> None:
    await cluster.create("pods", pod())
    async with connect(user="nobody-special") as client:
        with pytest.raises(Forbidden, match='cannot get resource "pods"'):
            await client.pod("p", namespace=cluster.namespace).read_logs()
