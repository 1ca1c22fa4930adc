"""An embedded server and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import dynkube
from dynkube_testing import APIServer


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[dynkube.Client]:
    async with dynkube.connect(transport=server.transport()) as client:
        yield client
