"""A server with a pod whose container a test plays, and a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest

import dynkube
from dynkube_testing import APIServer
from tests.pods.logs.kubelet import Clock, Kubelet, TearingTransport, pod


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with the pod ``web``; its clock follows virtual time."""
    async with APIServer(now=Clock()) as server:
        server.create(pod())
        yield server


@pytest.fixture
def transport(server: APIServer) -> TearingTransport:
    return TearingTransport(server.transport(), Random(1))


@pytest.fixture
def kubelet(server: APIServer) -> Kubelet:
    return Kubelet(server)


@pytest.fixture
async def client(server: APIServer, transport: TearingTransport) -> AsyncIterator[dynkube.Client]:
    async with dynkube.connect(url=server.url, transport=transport) as client:
        yield client
