"""The objects for tests of watches."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import config


@pytest.fixture
async def three(cluster: Cluster) -> Cluster:
    """ConfigMaps ``a``, ``b`` and ``c``, created in this order."""
    for name in "abc":
        await cluster.create("configmaps", config(name))
    return cluster
