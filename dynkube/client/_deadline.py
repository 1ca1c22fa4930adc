"""One ``timeout`` for a verb that takes several requests."""

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
    """Cancels what takes longer; ``None`` leaves each request in it the client's default.

    Raises:
        DeadlineExceeded: it took longer; ``missed`` says what is not there.
    """
    limit = math.inf if seconds is None else seconds
    with trio.move_on_after(limit) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineExceeded(f"{missed} within {round(limit, 3):g} s")


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a verb has to be done, in trio's time; ``None`` leaves each of its requests the client's default."""

    seconds: float | None
    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """Counted from now."""
        return cls(seconds, None if seconds is None else trio.current_time() + seconds)

    def left(self) -> float | None:
        """Seconds for the next request; what :class:`~dynkube.rest.Request` calls ``timeout``.

        Raises:
            DeadlineExceeded: none is left.
        """
        if self.at is None:
            return None
        left = self.at - trio.current_time()
        if left <= 0:
            raise DeadlineExceeded(f"not done within {self.seconds} s, with answers to every request so far")
        return left
