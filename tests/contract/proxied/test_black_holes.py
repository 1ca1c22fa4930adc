"""P11 and failure modes 21 and 26: when the network drops all data, every request ends at its deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
import trio

import dynkube
from dynkube.client._listwatch import ListWatch
from dynkube.config import load_config
from dynkube.errors import DeadlineExceeded
from dynkube.meta import GVR, FieldSelector, LabelSelector
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube_testing import FaultProxy
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.informers.kit import CONFIGS, names, put, wait_live

Send: TypeAlias = Callable[[RESTClient], Awaitable[None]]

IN_TIME = Request(method="GET", path="/version", timeout=GIVE_UP)  # long enough for a busy machine

pytestmark = [pytest.mark.real_time, pytest.mark.scenario("F21", "F26", "P11")]


async def test_a_silent_watch_is_replaced_within_its_deadline_without_missing_events(
    cluster: Cluster, proxy: FaultProxy, client: dynkube.Client
) -> None:
    await put(cluster, "before")
    async with client.informer(
        CONFIGS, namespace=cluster.namespace, field_selector="metadata.name!=kube-root-ca.crt"
    ) as configs:
        await wait_live(configs)
        with proxy.black_hole():
            connections = proxy.connections
            await cluster.delete("configmaps", "before")
            missed = await put(cluster, "missed")
            with trio.fail_after(GIVE_UP):  # the idle timeout of a second, and half a second until the retry
                await proxy.wait_connections(connections + 1)
            assert names(configs.list()) == ["before"]

        with trio.fail_after(GIVE_UP):
            await configs.wait_for(missed)
        assert names(configs.list()) == ["missed"]


async def list_once(rest: RESTClient) -> None:
    lists = ListWatch(
        rest,
        GVR("", "v1", "configmaps"),
        label_selector=LabelSelector.parse(None),
        field_selector=FieldSelector.parse(None),
    )
    await lists.list(timeout=1.0)


async def read(rest: RESTClient) -> None:
    await rest.request(Request(method="GET", path="/version"))


async def write(rest: RESTClient) -> None:
    await rest.request(Request(method="POST", path="/api/v1/namespaces", body=b"{}"))


async def open_watch(rest: RESTClient) -> None:
    request = Request(method="GET", path="/api/v1/configmaps", params={"watch": "true"}, timeout=1.0)
    async with rest.stream(request, watch=True):
        pass


@pytest.mark.parametrize("reused", [False, True], ids=["new connection", "kept connection"])
@pytest.mark.parametrize("send", [read, write, list_once, open_watch])
async def test_a_request_ends_at_its_deadline(send: Send, reused: bool, proxy: FaultProxy) -> None:
    async with RESTClient(load_config(kubeconfig=proxy.kubeconfig()), timeout=1.0) as rest:
        if reused:
            await rest.request(IN_TIME)
        with proxy.black_hole(), trio.fail_after(GIVE_UP), pytest.raises(DeadlineExceeded):
            await send(rest)

        await rest.request(IN_TIME)
