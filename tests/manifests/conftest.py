"""An embedded server and a client connected to it, for each test that asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest

import dynkube
from dynkube.testing import APIServer


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[dynkube.Client]:
    settings = dynkube.InformerSettings(random=Random(7))
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        yield client
