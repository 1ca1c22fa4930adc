"""A served cluster in a thread, and a blocking client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dynkube.sync
from dynkube_testing import ServerThread, serve_in_thread


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    """An embedded server for each test."""
    with serve_in_thread() as cluster:
        yield cluster


@pytest.fixture
def k(cluster: ServerThread) -> Iterator[dynkube.sync.Client]:
    """A blocking client of ``cluster``."""
    with dynkube.sync.connect(url=cluster.url) as client:
        yield client
