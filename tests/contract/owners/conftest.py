"""Widgets with fields of all types, in two versions with equal schemas."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.owners.kit import served


@pytest.fixture
async def widgets(cluster: Cluster) -> Cluster:
    """A cluster that serves these Widgets."""
    await cluster.create_crd(cluster.crd(versions=[served(), served(name="v2", storage=False)]))
    return cluster
