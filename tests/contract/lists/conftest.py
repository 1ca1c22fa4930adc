"""The objects for tests of lists."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import config


@pytest.fixture
async def five(cluster: Cluster) -> Cluster:
    """ConfigMaps ``a`` to ``e``, created in this order; the label ``tier`` of every other one is ``fe``."""
    for name in "abcde":
        await cluster.create("configmaps", config(name, labels={"tier": "fe" if name in "ace" else "be"}))
    return cluster
