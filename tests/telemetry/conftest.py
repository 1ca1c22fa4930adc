"""An embedded server, and a client with an observer that records all calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest

import dynkube
from dynkube_testing import APIServer
from tests.telemetry.kit import ObserverRecorder


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
def recorder() -> ObserverRecorder:
    return ObserverRecorder()


@pytest.fixture
async def client(server: APIServer, recorder: ObserverRecorder) -> AsyncIterator[dynkube.Client]:
    settings = dynkube.InformerSettings(random=Random(7), linger=0)
    async with dynkube.connect(transport=server.transport(), settings=settings, observers=[recorder]) as client:
        yield client
