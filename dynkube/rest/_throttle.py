"""A token bucket for client-side throttling."""

from __future__ import annotations

from dynkube.errors import InvalidInput


class TokenBucket:
    """Computes the delay of each request.

    Pure: the clock is passed in, the caller sleeps. Tokens are assigned in the order of the calls, as in client-go's
    ``flowcontrol.NewTokenBucketRateLimiter``.

    Args:
        qps: tokens added per second.
        burst: capacity, and tokens at the start.

    Raises:
        InvalidInput: an argument is not positive.
    """

    __slots__ = ("_burst", "_last", "_qps", "_tokens")

    def __init__(self, qps: float, burst: int) -> None:
        if not qps > 0 or burst < 1:
            raise InvalidInput(f"qps must be > 0 and burst >= 1, not {qps} and {burst}")
        self._qps = qps
        self._burst = burst
        self._tokens = float(burst)
        self._last: float | None = None

    def reserve(self, now: float) -> float:
        """Take a token and return the seconds to wait; 0.0 if it is available now.

        Args:
            now: a monotonic clock in seconds, such as ``trio.current_time()``.
        """
        if self._last is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._last) * self._qps)
        self._last = now
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)

    def give_back(self) -> None:
        """Return a token whose caller was cancelled while waiting for it."""
        self._tokens = min(self._burst, self._tokens + 1)
