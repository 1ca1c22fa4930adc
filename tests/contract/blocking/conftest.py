"""The blocking API, on each backend: it runs in a separate thread, over sockets and on the real clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TypeVar

import pytest
import trio

import dynkube.sync
from dynkube_testing import APIServer
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster

T = TypeVar("T")
InThread = Callable[[Callable[[dynkube.sync.Client], T]], Awaitable[T]]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {}


@pytest.fixture
async def in_thread(backend: Backend, server: APIServer | None, cluster: Cluster) -> AsyncIterator[InThread[object]]:
    """Opens a blocking client in a thread, and calls a function with it there."""
    async with backend.endpoint(server, tls=True) as endpoint:
        kubeconfig = endpoint.kubeconfig(namespace=cluster.namespace)

        def with_client(function: Callable[[dynkube.sync.Client], object]) -> object:
            with dynkube.sync.connect(kubeconfig=kubeconfig) as k:
                return function(k)

        yield lambda function: trio.to_thread.run_sync(partial(with_client, function))
