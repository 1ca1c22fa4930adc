"""An engine for each test."""

from __future__ import annotations

import pytest

from tests.testing.engine.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
