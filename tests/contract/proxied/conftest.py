"""A fault-injecting proxy in front of each backend, over sockets and on the real clock, also with the embedded one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest

import dynkube
from dynkube_testing import APIServer, Endpoint, FaultProxy
from tests.contract.backends import Backend


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {}


@pytest.fixture
async def upstream(backend: Backend, server: APIServer | None) -> AsyncIterator[Endpoint]:
    async with backend.endpoint(server) as endpoint:
        yield endpoint


@pytest.fixture
async def proxy(upstream: Endpoint) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(upstream, random=Random(7)) as proxy:
        yield proxy


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[dynkube.Client]:
    """A client that connects through the proxy, with short idle timeouts."""
    settings = dynkube.InformerSettings(watch_idle_timeout=1.0, streaming_idle_timeout=1.0, random=Random(7))
    async with dynkube.connect(kubeconfig=proxy.kubeconfig(), settings=settings) as client:
        yield client


@pytest.fixture
async def patient(proxy: FaultProxy) -> AsyncIterator[dynkube.Client]:
    """A client that connects through the proxy, with the default timeouts."""
    settings = dynkube.InformerSettings(random=Random(7))
    async with dynkube.connect(kubeconfig=proxy.kubeconfig(), settings=settings) as client:
        yield client
