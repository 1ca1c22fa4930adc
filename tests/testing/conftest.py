"""An embedded server, and an HTTP client on its in-process transport."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from dynkube_testing import APIServer


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url, timeout=None) as client:
        yield client
