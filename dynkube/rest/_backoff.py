"""Exponential backoff. Pure: clock and randomness are passed in."""

from __future__ import annotations

import random as random_module

from dynkube.errors import InvalidInput

_MOST_ASKED = 300.0


class Backoff:
    """Exponential delays with jitter, as in client-go's reflector.

    They reset after a healthy period. The defaults are those of ``wait.NewExponentialBackoffManager(800ms, 30s, 2min,
    2.0, 1.0)``: each delay is drawn from ``[d, 2d)`` where ``d`` doubles from 0.8 s up to 30 s.

    Args:
        initial: the first ``d``, in seconds.
        factor: the growth factor of ``d``.
        cap: the maximum of ``d``, in seconds; jitter is added on top.
        jitter: the maximum jitter as a multiple of ``d``; 0 for none.
        reset_after: seconds since the last call after which ``d`` is reset.
        random: source of the jitter; pass a seeded one for reproducible delays.

    Raises:
        InvalidInput: an argument is out of range; the message names it.
    """

    __slots__ = ("_cap", "_delay", "_factor", "_initial", "_jitter", "_last", "_random", "_reset_after")

    def __init__(
        self,
        *,
        initial: float = 0.8,
        factor: float = 2.0,
        cap: float = 30.0,
        jitter: float = 1.0,
        reset_after: float = 120.0,
        random: random_module.Random | None = None,
    ) -> None:
        if not 0 < initial <= cap:
            raise InvalidInput(f"initial must be > 0 and <= cap, not {initial} with cap {cap}")
        if factor < 1 or jitter < 0 or reset_after <= 0:
            raise InvalidInput("factor must be >= 1, jitter >= 0 and reset_after > 0")
        self._initial = initial
        self._factor = factor
        self._cap = cap
        self._jitter = jitter
        self._reset_after = reset_after
        self._random = random or random_module.Random()
        self._delay = initial
        self._last: float | None = None

    def next(self, now: float, *, asked: float | None = None) -> float:
        """Return the seconds to wait.

        Args:
            now: a monotonic clock in seconds, such as ``trio.current_time()``.
            asked: seconds requested by the server (``Retry-After``), at most 300. The delay is never shorter, and up to
                a tenth longer, so that clients that received the same value do not all retry at once.
        """
        delay = self._step(now)
        if asked is None:
            return delay
        return max(delay, min(asked, _MOST_ASKED) * (1 + 0.1 * self._jitter * self._random.random()))

    def _step(self, now: float) -> float:
        if self._last is not None and now - self._last >= self._reset_after:
            self._delay = self._initial
        self._last = now
        delay = self._delay
        self._delay = min(delay * self._factor, self._cap)
        return delay + delay * self._jitter * self._random.random()

    def reset(self) -> None:
        """Reset: the next delay is drawn from the first step."""
        self._delay = self._initial
        self._last = None
