"""Widgets that all tests of a module share: definitions are dear to real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.backends import Backend, open_cluster
from tests.contract.schemas.kit import Fields


@pytest.fixture(scope="module")
def anyio_backend(backend: Backend) -> tuple[str, dict[str, object]]:
    return backend.anyio_backend


@pytest.fixture(scope="module")
async def widgets(backend: Backend, request: pytest.FixtureRequest) -> AsyncIterator[Fields]:
    """A field for the first value of each of the module's ``CASES``, which is its schema."""
    async with open_cluster(backend) as cluster:
        yield await Fields.define(cluster, [case.values[0] for case in request.module.CASES])
