"""A server with a pod, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
import trio

from dynkube_testing import APIServer
from tests.testing.containers.kit import pod

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with the pod ``web``; its clock begins at noon and follows virtual time."""
    began = trio.current_time()
    async with APIServer(now=lambda: NOON + timedelta(seconds=trio.current_time() - began)) as server:
        server.create(pod("web"))
        yield server


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url, timeout=None) as client:
        yield client
