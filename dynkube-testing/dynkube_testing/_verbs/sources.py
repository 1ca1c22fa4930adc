"""The clock and the random numbers of writes, which are the same each time that a request is handled."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime

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

    def fixed(self, answers: WebhookAnswers | None) -> AbstractContextManager[None]:
        """Use the time and the seed of ``answers`` inside the block, in this thread; with ``None`` nothing changes."""
        return nullcontext() if answers is None else self._fixed_to(answers)

    @contextmanager
    def _fixed_to(self, answers: WebhookAnswers) -> Iterator[None]:
        self._fixed.time, self._fixed.random = answers.time, random.Random(answers.seed)
        try:
            yield
        finally:
            del self._fixed.time, self._fixed.random


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
