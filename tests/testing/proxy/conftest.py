"""An embedded server on TCP, and a proxy in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from dynkube_testing import APIServer, Endpoint, FaultProxy


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
async def upstream(server: APIServer) -> AsyncIterator[Endpoint]:
    async with server.serve() as endpoint:
        yield endpoint


@pytest.fixture
async def proxy(upstream: Endpoint) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(upstream) as proxy:
        yield proxy


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=proxy.url, timeout=20) as client:
        yield client
