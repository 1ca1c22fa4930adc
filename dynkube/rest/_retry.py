"""Whether a request may be asked again, and when. Pure."""

from __future__ import annotations

import random as random_module
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from dynkube.rest._messages import Limits

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# The two codes that say the server has not begun to work on the request; any other 5xx may come after it did.
_NOT_BEGUN = frozenset({429, 503})
_RECONNECT_DELAY = 0.1


def parse_retry_after(value: str | None, *, now: datetime) -> float | None:
    """Seconds to wait by a ``Retry-After`` field (RFC 9110, 10.2.3).

    Args:
        value: the field: a number of seconds or an HTTP date.
        now: the wall clock, aware, to measure a date against.

    Returns:
        Seconds, 0.0 for a date that has passed; ``None`` if there is no field or it is neither.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:  # "-0000" says UTC and not from where
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


class Retries:
    """Counts the repetitions of one request and says what each failure calls for.

    As client-go, a 429 or 5xx is repeated only if the server says when (``Retry-After``): a 429 without it is an
    answer, e.g. an eviction that a disruption budget does not allow. Unlike client-go, a request that may change
    something is repeated only where the code says that it was not begun, and a connection lost before an answer is
    waited for with a growing delay.
    """

    __slots__ = ("_limits", "_obliging", "_random", "_reconnects", "_retries", "_safe")

    def __init__(self, method: str, limits: Limits, random: random_module.Random, *, obliging: bool = True) -> None:
        self._safe = method in _SAFE
        self._obliging = obliging
        self._limits = limits
        self._random = random
        self._retries = 0
        self._reconnects = 0

    def after_answer(self, code: int, retry_after: float | None) -> float | None:
        """Seconds until the next try after an answer of ``code``, or ``None`` to give up."""
        overloaded = code == 429 or code >= 500
        if not overloaded or not self._obliging or retry_after is None or self._retries >= self._limits.max_retries:
            return None
        if not self._safe and code not in _NOT_BEGUN:
            return None
        self._retries += 1
        return retry_after

    def after_lost_connection(self) -> float | None:
        """Seconds until the next try after a connection refused, reset or closed before an answer, or ``None``."""
        if not self._safe or self._reconnects >= self._limits.max_reconnects:
            return None
        delay = _RECONNECT_DELAY * 2.0**self._reconnects
        self._reconnects += 1
        return delay * (1 + self._random.random())
