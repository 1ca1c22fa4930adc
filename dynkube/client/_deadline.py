"""One ``timeout`` for a verb that takes several requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import trio

from dynkube.errors import DeadlineExceeded


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
