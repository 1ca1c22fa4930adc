"""Refused WebSockets, as servers and what is before them refuse them."""

from __future__ import annotations

import httpx2
import pytest

import dynkube
from dynkube.errors import BadRequest, PodError, ProtocolError
from dynkube_testing import APIServer
from tests.pods.kit import add, running_pod


async def test_a_pod_without_a_node_is_pending(server: APIServer, client: dynkube.Client) -> None:
    add(server, running_pod("new", node="") | {"status": {"phase": "Pending"}})

    with pytest.raises(BadRequest, match="the pod is Pending: it has no node yet"):
        await client.pod("new").exec(["ls"])


async def test_a_server_that_cannot_close_stdin_is_not_asked_to_start_the_command() -> None:
    offered: list[str] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        offered.append(request.headers["sec-websocket-protocol"])
        return httpx2.Response(403)  # what a kubelet answers that speaks none of them

    async with dynkube.connect(url="http://old.invalid", transport=httpx2.MockTransport(refuse)) as client:
        with pytest.raises(PodError, match=r"it speaks none of v5\.channel\.k8s\.io"):
            await client.pod("web").exec(["cat"], stdin="x")
        with pytest.raises(PodError, match=r"none of v5\.channel\.k8s\.io, v4\.channel\.k8s\.io"):
            await client.pod("web").exec(["cat"])

    assert offered == ["v5.channel.k8s.io", "v5.channel.k8s.io, v4.channel.k8s.io"]


async def test_a_proxy_that_does_not_pass_on_upgrades_is_named() -> None:
    async with dynkube.connect(
        url="http://cluster.invalid", transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json={}))
    ) as client:
        with pytest.raises(ProtocolError, match="may not pass on upgrades"):
            await client.pod("web").exec(["ls"])
