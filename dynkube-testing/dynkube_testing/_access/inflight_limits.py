"""Limit on concurrent requests; requests above the limit get 429."""

from __future__ import annotations

from dynkube.errors import APIError, InvalidInput, Status

_RETRY_AFTER = 1


class InflightLimit:
    """Non-blocking limit of concurrent requests; each request takes a seat.

    API Priority and Fairness in kube-apiserver queues requests first, and isolates flows by priority levels. Here there
    is one level, and a request above the limit gets 429 at once, as with full queues.

    Args:
        limit: Number of seats; ``None`` for no limit.

    Raises:
        InvalidInput: ``limit`` is less than 1.
    """

    def __init__(self, limit: int | None) -> None:
        if limit is not None and limit < 1:
            raise InvalidInput(f"max_inflight is {limit}: pass a positive number of requests, or None for no limit")
        self._limit = limit
        self._taken = 0

    def take(self) -> Seat:
        """Take a seat.

        Raises:
            TooManyRequests: All seats are taken.
        """
        if self._limit is not None and self._taken >= self._limit:
            raise APIError.from_status(
                Status(
                    code=429,
                    reason="TooManyRequests",
                    message="Too many requests, please try again later.",
                    retry_after=_RETRY_AFTER,
                )
            )
        self._taken += 1
        return Seat(self)

    def _free(self) -> None:
        self._taken -= 1


class Seat:
    """A seat that a request has taken."""

    def __init__(self, seats: InflightLimit) -> None:
        self._seats: InflightLimit | None = seats

    def release(self) -> None:
        """Release the seat. Idempotent."""
        if self._seats is not None:
            seats, self._seats = self._seats, None
            seats._free()
