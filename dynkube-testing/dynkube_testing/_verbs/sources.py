"""Timestamps, UIDs and generated names, which are the same each time that a request is handled."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from dynkube_testing._calls.webhook_calls import WebhookAnswers


class Sources:
    """The clock and the random numbers of an engine.

    While a request waits for webhooks it is handled again, and its UID, times, names and addresses must not change.
    """

    def __init__(self, now: Callable[[], datetime], source: random.Random) -> None:
        self._now = now
        self._fixed = threading.local()  # large writes are handled in another thread meanwhile
        self.random: random.Random = _Replaceable(source, self._fixed)

    def now(self) -> datetime:
        """Return the time."""
        fixed: datetime | None = getattr(self._fixed, "time", None)
        return self._now() if fixed is None else fixed

    def answers(self) -> WebhookAnswers | None:
        """Return the answers of webhooks to the request that is handled in this thread; ``None`` if none are called."""
        known: WebhookAnswers | None = getattr(self._fixed, "answers", None)
        return known

    def fixed(self, answers: WebhookAnswers | None) -> AbstractContextManager[None]:
        """Use the time and the seed of ``answers`` inside the block, in this thread; with ``None`` nothing changes."""
        return nullcontext() if answers is None else self._fixed_to(answers)

    @contextmanager
    def _fixed_to(self, answers: WebhookAnswers) -> Iterator[None]:
        self._fixed.time, self._fixed.random, self._fixed.answers = answers.time, random.Random(answers.seed), answers
        try:
            yield
        finally:
            del self._fixed.time, self._fixed.random, self._fixed.answers


class _Replaceable(random.Random):
    """Random numbers of ``source``, or of ``fixed.random`` while that is set."""

    def __init__(self, source: random.Random, fixed: threading.local) -> None:
        super().__init__(0)
        self._source = source
        self._fixed = fixed

    def _present(self) -> random.Random:
        present: random.Random = getattr(self._fixed, "random", self._source)
        return present

    def random(self) -> float:
        """Return the next number."""
        return self._present().random()

    def getrandbits(self, k: int, /) -> int:
        """Return the next ``k`` bits."""
        return self._present().getrandbits(k)


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
