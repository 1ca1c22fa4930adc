"""Clusters for each test."""

from __future__ import annotations

import pytest

from tests.testing.engine.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def bare() -> Cluster:
    """An API server without a garbage collector behind it: what deletes write can be looked at."""
    return Cluster(garbage_collection=False)
