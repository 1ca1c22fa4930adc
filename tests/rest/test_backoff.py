"""Delays that grow, and start again."""

from __future__ import annotations

import random

import pytest

from dynkube.errors import InvalidInput
from dynkube.rest._backoff import Backoff
from tests.rest.wire import NoJitter


def test_delays_double_from_eight_tenths_of_a_second_to_thirty() -> None:
    backoff = Backoff(random=NoJitter())

    assert [backoff.next(now) for now in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_jitter_at_most_doubles_the_delay() -> None:
    backoffs = [Backoff(random=random.Random(seed)) for seed in range(200)]

    delays = [backoff.next(0.0) for backoff in backoffs]

    assert all(0.8 <= delay < 1.6 for delay in delays)
    assert max(delays) - min(delays) > 0.7


def test_after_two_minutes_without_failure_delays_start_again() -> None:
    backoff = Backoff(random=NoJitter())
    backoff.next(0.0)
    backoff.next(1.0)

    assert backoff.next(120.9) == 3.2
    assert backoff.next(240.9) == 0.8


@pytest.mark.parametrize(("jitter", "latest"), [(0, 60.0), (0.5, 63.0), (1, 66.0), (3, 78.0)])
def test_a_retry_after_is_used_with_a_tenth_of_the_jitter(jitter: float, latest: float) -> None:
    delays = [Backoff(jitter=jitter, random=random.Random(seed)).next(0.0, asked=60) for seed in range(200)]

    assert all(60 <= delay <= latest for delay in delays)
    assert max(delays) >= 60 + 0.9 * (latest - 60)


def test_reset_starts_again_at_once() -> None:
    backoff = Backoff(random=NoJitter())
    backoff.next(0.0)
    backoff.reset()

    assert backoff.next(0.1) == 0.8


@pytest.mark.parametrize(
    "numbers", [{"initial": 0}, {"initial": 31}, {"factor": 0.5}, {"jitter": -1}, {"reset_after": 0}]
)
def test_invalid_numbers_are_rejected(numbers: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(numbers))):
        Backoff(**numbers)  # type: ignore[arg-type]  # random is not among them


@pytest.mark.scenario("F23")
@pytest.mark.parametrize(("asked", "soonest", "latest"), [(0.5, 0.8, 1.6), (20, 20, 22), (86400, 300, 330)])
def test_a_retry_after_is_honored_up_to_a_limit_and_with_jitter(asked: float, soonest: float, latest: float) -> None:
    delays = [Backoff(random=random.Random(seed)).next(0, asked=asked) for seed in range(50)]

    assert all(soonest <= delay <= latest for delay in delays)
    assert len(set(delays)) == 50
