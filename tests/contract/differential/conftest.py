"""The number of sequences to play, from the command line."""

from __future__ import annotations

import random

import pytest

from tests.contract.differential.effort import Effort


@pytest.fixture(scope="session")
def effort(request: pytest.FixtureRequest) -> Effort:
    examples, seed = (request.config.getoption(f"--differential-{name}") for name in ("examples", "seed"))
    return Effort(examples=examples, seed_number=random.randrange(10**6) if seed is None else seed)
