"""How many requests a server works on at once, and the 429 for those over it."""

from __future__ import annotations

from dynkube.errors import APIError, InvalidInput, Status

_RETRY_AFTER = 1


class Seats:
    """Seats for requests under way. A request takes one and gives it back; nobody waits for one.

    kube-apiserver lets some requests wait in queues first, and puts users into classes that do not disturb each other.
    Here there is one class, and who finds no seat is refused at once, as where its queues are full.

    Args:
        limit: How many there are; ``None`` for as many as are wanted.

    Raises:
        InvalidInput: There would be none.
    """

    def __init__(self, limit: int | None) -> None:
        if limit is not None and limit < 1:
            raise InvalidInput(f"max_inflight is {limit}; give a positive number of requests, or None for no limit")
        self._limit = limit
        self._taken = 0

    def take(self) -> Seat:
        """A seat.

        Raises:
            TooManyRequests: All are taken.
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
    """One seat, until it is given back."""

    def __init__(self, seats: Seats) -> None:
        self._seats: Seats | None = seats

    def release(self) -> None:
        """Give it back. Plain; may be called again."""
        if self._seats is not None:
            seats, self._seats = self._seats, None
            seats._free()
