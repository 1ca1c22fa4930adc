"""A server whose clock stands still until a test changes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from dynkube_testing import APIServer


@dataclass
class Clock:
    """A clock that is set by the test."""

    now: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[APIServer]:
    async with APIServer(now=clock) as server:
        yield server
