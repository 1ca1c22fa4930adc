"""Source of timestamps, UIDs and generated names for the embedded server."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_GENERATED_BASE = 63 - _SUFFIX_LENGTH


@dataclass(frozen=True, slots=True)
class Identity:
    """Generates timestamps, UIDs and names.

    Attributes:
        now: The clock; tests can pass a deterministic one.
        random: The source of randomness; tests can pass a seeded one.
    """

    now: Callable[[], datetime]
    random: random.Random

    def timestamp(self) -> str:
        """Return the current time in the format of ``creationTimestamp``."""
        return self.now().astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"

    def uid(self) -> str:
        """Return a new UID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def generated(self, base: str) -> str:
        """Return a name generated from ``base``, the value of ``generateName``."""
        suffix = "".join(self.random.choice(_SUFFIX_LETTERS) for _ in range(_SUFFIX_LENGTH))
        return base[:_MAX_GENERATED_BASE] + suffix
