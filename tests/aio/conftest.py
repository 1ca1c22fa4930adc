"""A served cluster in a thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynkube_testing import ServerThread, serve_in_thread


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    """An embedded server for each test."""
    with serve_in_thread() as cluster:
        yield cluster
