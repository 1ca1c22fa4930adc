"""One ``timeout`` for a verb that sends several requests."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import trio

from dynkube.errors import DeadlineExceeded


@contextmanager
def within(seconds: float | None, missed: str) -> Iterator[None]:
    """Cancel the block after ``seconds``.

    Args:
        seconds: the timeout; ``None`` sets none, so that each request in the block has the client's default timeout.
        missed: the message of the error.

    Raises:
        DeadlineExceeded: the time is up.
    """
    limit = math.inf if seconds is None else seconds
    with trio.move_on_after(limit) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineExceeded(f"{missed} within {round(limit, 3):g} s")


@dataclass(frozen=True, slots=True)
class Deadline:
    """Deadline of a verb, on trio's clock.

    Without a timeout (``None``) each request of the verb has the client's default timeout.
    """

    seconds: float | None
    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """Create a deadline ``seconds`` from now."""
        return cls(seconds, None if seconds is None else trio.current_time() + seconds)

    def left(self) -> float | None:
        """Return the seconds left, for the ``timeout`` of the next request.

        Raises:
            DeadlineExceeded: no time is left.
        """
        if self.at is None:
            return None
        left = self.at - trio.current_time()
        if left <= 0:
            raise DeadlineExceeded(f"not done within {self.seconds} s, although every request so far was answered")
        return left
