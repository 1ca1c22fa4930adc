"""Delays of failed keys; the cases are those of client-go's rate limiters."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dynkube.controllers import (
    ExponentialBackoff,
    FastSlow,
    MaxDelay,
    MaxOf,
    RateLimiter,
    TokenBucket,
    default_rate_limiter,
)
from dynkube.errors import InvalidInput


def delays(limiter: RateLimiter[Any], key: str, count: int, now: float = 0.0) -> list[float]:
    return [limiter.delay(key, now) for _ in range(count)]


def test_the_delay_of_a_key_doubles_with_each_failure() -> None:
    backoff: ExponentialBackoff[str] = ExponentialBackoff(0.001, 1.0)

    assert delays(backoff, "one", 5) == pytest.approx([0.001, 0.002, 0.004, 0.008, 0.016])
    assert delays(backoff, "two", 2) == pytest.approx([0.001, 0.002])
    assert (backoff.failures("one"), backoff.failures("two")) == (5, 2)


def test_a_forgotten_key_starts_again() -> None:
    backoff: ExponentialBackoff[str] = ExponentialBackoff()
    delays(backoff, "one", 9)

    backoff.forget("one")
    backoff.forget("never failed")

    assert (backoff.failures("one"), delays(backoff, "one", 1)) == (0, [0.005])


def test_the_delay_has_a_limit_even_if_doubling_would_overflow() -> None:
    backoff: ExponentialBackoff[str] = ExponentialBackoff(0.001, 1000.0)

    assert max(delays(backoff, "one", 2000)) == 1000.0


def test_the_first_failures_are_retried_fast_and_the_later_ones_slowly() -> None:
    limiter: FastSlow[str] = FastSlow(0.005, 10.0, 3)

    assert delays(limiter, "one", 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    limiter.forget("one")
    assert (limiter.failures("one"), delays(limiter, "one", 1), limiter.failures("one")) == (0, [0.005], 1)


def test_a_bucket_allows_a_burst_and_then_a_rate() -> None:
    bucket = TokenBucket(rate=10, burst=3)

    assert delays(bucket, "any", 5) == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert bucket.delay("another", 0.2) == pytest.approx(0.1)
    assert bucket.delay("another", 100) == 0
    assert bucket.failures("any") == 0


def test_the_tokens_of_a_bucket_do_not_accumulate_beyond_its_burst() -> None:
    bucket = TokenBucket(rate=10, burst=2)
    bucket.delay("any", 0)

    assert delays(bucket, "any", 3, now=1000.0) == pytest.approx([0, 0, 0.1])


def test_a_clock_that_goes_back_adds_no_tokens() -> None:
    bucket = TokenBucket(rate=1, burst=1)

    assert [bucket.delay("any", now) for now in (10, 5, 10)] == pytest.approx([0, 1, 2])


def test_of_several_limiters_the_longest_delay_applies() -> None:
    limiter: MaxOf[str] = MaxOf(ExponentialBackoff(1, 8), FastSlow(5, 6, 1))

    assert delays(limiter, "one", 5) == [5, 6, 6, 8, 8]
    assert limiter.failures("one") == 5
    limiter.forget("one")
    assert limiter.failures("one") == 0


def test_a_limit_of_the_delay_changes_nothing_else() -> None:
    limiter: MaxDelay[str] = MaxDelay(ExponentialBackoff(1, 100), 4)

    assert delays(limiter, "one", 5) == [1, 2, 4, 4, 4]
    assert limiter.failures("one") == 5
    limiter.forget("one")
    assert (limiter.failures("one"), delays(limiter, "one", 1)) == (0, [1])


def test_the_default_is_that_of_client_go() -> None:
    limiter = default_rate_limiter()

    assert [limiter.delay("one", 0) for _ in range(3)] == [0.005, 0.01, 0.02]
    for number in range(97):
        limiter.delay(number, 0)
    assert limiter.delay("the hundred and first", 0) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ExponentialBackoff(0, 1),
        lambda: ExponentialBackoff(2, 1),
        lambda: ExponentialBackoff(1, math.inf),
        lambda: FastSlow(-1, 1, 1),
        lambda: FastSlow(1, math.nan, 1),
        lambda: FastSlow(1, 1, -1),
        lambda: TokenBucket(rate=0),
        lambda: TokenBucket(rate=math.inf),
        lambda: TokenBucket(burst=0),
        lambda: MaxOf(),
        lambda: MaxDelay(TokenBucket(), math.nan),
    ],
)
def test_invalid_numbers_are_rejected(make: Any) -> None:
    with pytest.raises(InvalidInput, match="pass "):
        make()
