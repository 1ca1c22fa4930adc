"""How long a key waits after it failed: per key, for all keys together, and combinations.

The same as the rate limiters of client-go's ``util/workqueue``. No I/O, no randomness; the time is passed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from dynkube._guard import attempt
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import brief, is_number

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)

_LAST_DOUBLING: Final = 1000  # exponents above would overflow a float


class RateLimiter(Protocol[K_contra]):
    """Decides how long a key waits before it is processed again (client-go's ``TypedRateLimiter``)."""

    def delay(self, key: K_contra, now: float) -> float:
        """Count a failure of ``key``, and return the seconds until it may be processed again.

        Args:
            key: the key that failed.
            now: a monotonic clock in seconds, such as ``trio.current_time()``.
        """
        ...

    def forget(self, key: K_contra) -> None:
        """Reset the failures of ``key``, as it succeeded or is not needed any more."""
        ...

    def failures(self, key: K_contra) -> int:
        """Return how often ``key`` has failed since it was last forgotten."""
        ...


class ExponentialBackoff(Generic[K]):
    """Doubles the delay of a key with each failure (client-go's ``ItemExponentialFailureRateLimiter``).

    Args:
        initial: seconds after the first failure.
        cap: the most seconds.

    Raises:
        InvalidInput: not ``0 < initial <= cap < inf``.
    """

    def __init__(self, initial: float = 0.005, cap: float = 1000.0) -> None:
        if not 0 < initial <= cap < math.inf:
            raise InvalidInput(f"initial={initial!r}, cap={cap!r}: pass seconds with 0 < initial <= cap")
        self._initial = initial
        self._cap = cap
        self._failures: dict[K, int] = {}

    def delay(self, key: K, now: float) -> float:
        """Count a failure, and return the key's delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._initial * 2.0 ** min(failures, _LAST_DOUBLING), self._cap)

    def forget(self, key: K) -> None:
        """Reset the failures of ``key``."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how often ``key`` has failed since it was last forgotten."""
        return self._failures.get(key, 0)


class FastSlow(Generic[K]):
    """Retries some times after a short delay, and then after a long one (client-go's ``ItemFastSlowRateLimiter``).

    Args:
        fast: seconds after each of the first failures.
        slow: seconds after each later one.
        fast_attempts: how many failures are followed by the short delay.

    Raises:
        InvalidInput: a delay is negative or infinite, or ``fast_attempts`` is negative.
    """

    def __init__(self, fast: float, slow: float, fast_attempts: int) -> None:
        if not (0 <= fast < math.inf and 0 <= slow < math.inf) or fast_attempts < 0:
            raise InvalidInput(
                f"fast={fast!r}, slow={slow!r}, fast_attempts={fast_attempts!r}: pass seconds and a count"
            )
        self._fast = fast
        self._slow = slow
        self._attempts = fast_attempts
        self._failures: dict[K, int] = {}

    def delay(self, key: K, now: float) -> float:
        """Count a failure, and return the key's delay in seconds."""
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        return self._fast if failures <= self._attempts else self._slow

    def forget(self, key: K) -> None:
        """Reset the failures of ``key``."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how often ``key`` has failed since it was last forgotten."""
        return self._failures.get(key, 0)


class TokenBucket:
    """Limits the retries of all keys together (client-go's ``BucketRateLimiter``).

    Args:
        rate: retries per second.
        burst: how many may follow each other without a delay, after a time without any.

    Raises:
        InvalidInput: ``rate`` is not a positive number, or ``burst`` is less than 1.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        if not 0 < rate < math.inf or burst < 1:
            raise InvalidInput(
                f"rate={rate!r}, burst={burst!r}: pass a positive rate per second, and a burst of 1 or more"
            )
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at = -math.inf

    def delay(self, key: object, now: float) -> float:
        """Take a token, and return the seconds until it is there."""
        since = max(0.0, now - self._at)
        self._at = max(now, self._at)
        self._tokens = min(self._burst, self._tokens + since * self._rate) - 1
        return max(0.0, -self._tokens / self._rate)

    def forget(self, key: object) -> None:
        """Do nothing, as keys are not distinguished."""

    def failures(self, key: object) -> int:
        """Return 0, as keys are not distinguished."""
        return 0


class MaxOf(Generic[K]):
    """Uses the longest delay of several rate limiters (client-go's ``MaxOfRateLimiter``).

    Args:
        limiters: each of them counts each failure.

    Raises:
        InvalidInput: no limiter is given.
    """

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        if not limiters:
            raise InvalidInput("MaxOf() has no rate limiters: pass at least one")
        self._limiters = limiters

    def delay(self, key: K, now: float) -> float:
        """Count a failure in each limiter, and return the longest delay in seconds."""
        return max([limiter.delay(key, now) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Reset the failures of ``key`` in each limiter."""
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return the largest number of failures that a limiter has counted."""
        return max(limiter.failures(key) for limiter in self._limiters)


class MaxDelay(Generic[K]):
    """Limits the delay of another rate limiter (client-go's ``WithMaxWaitRateLimiter``).

    Args:
        limiter: the other one.
        seconds: the longest delay.

    Raises:
        InvalidInput: ``seconds`` is negative or not a number.
    """

    def __init__(self, limiter: RateLimiter[K], seconds: float) -> None:
        if not seconds >= 0:
            raise InvalidInput(f"seconds={seconds!r}: pass 0 or more")
        self._limiter = limiter
        self._seconds = seconds

    def delay(self, key: K, now: float) -> float:
        """Count a failure, and return the delay in seconds."""
        return min(self._limiter.delay(key, now), self._seconds)

    def forget(self, key: K) -> None:
        """Reset the failures of ``key``."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return how often ``key`` has failed since it was last forgotten."""
        return self._limiter.failures(key)


class GuardedLimiter(Generic[K]):
    """Uses a rate limiter of a user, and another one for a failure for which that raises or returns no delay.

    Args:
        limiter: the rate limiter.
        failed: called with the key and the exception.
    """

    def __init__(self, limiter: RateLimiter[K], failed: Callable[[K, Exception], None]) -> None:
        self._limiter = limiter
        self._failed = failed
        self._own: ExponentialBackoff[K] = ExponentialBackoff()

    def delay(self, key: K, now: float) -> float:
        """Count a failure, and return the key's delay in seconds."""
        own = self._own.delay(key, now)
        return attempt(lambda: self._checked(key, now), own, partial(self._failed, key))

    def _checked(self, key: K, now: float) -> float:
        seconds: object = self._limiter.delay(key, now)
        if not is_number(seconds) or not 0 <= seconds < math.inf:
            raise InvalidInput(f"delay() of the rate limiter returned {brief(seconds)}: return seconds, 0 or more")
        return float(seconds)

    def forget(self, key: K) -> None:
        """Reset the failures of ``key``."""
        self._own.forget(key)
        attempt(lambda: self._limiter.forget(key), None, partial(self._failed, key))

    def failures(self, key: K) -> int:
        """Return how often ``key`` has failed since it was last forgotten."""
        return self._own.failures(key)


def default_rate_limiter() -> RateLimiter[Hashable]:
    """Return the rate limiter of client-go's and controller-runtime's controllers.

    The longer delay of 5 ms to 1,000 s for each key, doubled by each failure, and 10 retries a second for all keys
    together, with bursts of 100.
    """
    return MaxOf(ExponentialBackoff(), TokenBucket())
