"""Widgets that all tests of a module share, as creating CRDs is slow on real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dynkube_testing import APIServer
from tests.contract.backends import Backend, open_cluster
from tests.contract.schemas.kit import Fields


@pytest.fixture(scope="module")
def anyio_backend(backend: Backend) -> tuple[str, dict[str, object]]:
    return backend.anyio_backend


@pytest.fixture(scope="module")
async def server(backend: Backend) -> AsyncIterator[APIServer | None]:
    """One embedded server for the module; each test still has its own group and namespace."""
    async with backend.serve() as server:
        yield server


@pytest.fixture(scope="module")
async def widgets(backend: Backend, server: APIServer | None, request: pytest.FixtureRequest) -> AsyncIterator[Fields]:
    """Widgets with a field for each of the module's ``SCHEMAS``."""
    async with open_cluster(backend, server) as cluster:
        yield await Fields.create_crd(cluster, request.module.SCHEMAS)
