"""A server with the pod ``web``, and a client of it, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio

import dynkube
from dynkube_testing import APIServer
from tests.pods.kit import add, running_pod


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        add(server, running_pod("web"))
        yield server


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[dynkube.Client]:
    async with dynkube.connect(url=server.url, transport=server.transport()) as client:
        yield client


@pytest.fixture
def web(client: dynkube.Client) -> dynkube.Pod:
    return client.pod("web")


@pytest.fixture
async def nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery for background tasks; it is cancelled at the end of the test."""
    async with trio.open_nursery() as opened:
        yield opened
        opened.cancel_scope.cancel()
