"""Retry policy: whether and when a request may be resent. Pure."""

from __future__ import annotations

import random as random_module
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from dynkube.rest._messages import Limits

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# The two codes for which the server has not begun to process the request; other 5xx may follow partial processing.
_NOT_BEGUN = frozenset({429, 503})
_RECONNECT_DELAY = 0.1


def parse_retry_after(value: str | None, *, now: datetime) -> float | None:
    """Return the seconds to wait by a ``Retry-After`` header (RFC 9110, 10.2.3).

    Args:
        value: the header: a number of seconds or an HTTP date.
        now: the wall clock, timezone-aware, to compare a date with.

    Returns:
        Seconds, 0.0 for a date in the past; ``None`` if there is no header or it is malformed.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # a number that no date has
        return None
    if moment.tzinfo is None:  # "-0000" means UTC, of unknown origin
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


class Retries:
    """Retry policy and counters of one request.

    As in client-go, a 429 or 5xx is retried only with ``Retry-After``. A 429 without it is final, for example for an
    eviction that a PodDisruptionBudget blocks. Unlike client-go, a request that may change something is retried only if
    the code means that it was not processed, and after a connection was lost before a response, a GET is retried with a
    growing delay.
    """

    __slots__ = ("_honors_retry_after", "_limits", "_random", "_reconnects", "_retries", "_safe")

    def __init__(
        self, method: str, limits: Limits, random: random_module.Random, *, honor_retry_after: bool = True
    ) -> None:
        self._safe = method in _SAFE
        self._honors_retry_after = honor_retry_after
        self._limits = limits
        self._random = random
        self._retries = 0
        self._reconnects = 0

    def after_answer(self, code: int, retry_after: float | None) -> float | None:
        """Return the seconds until a retry after a response, or ``None`` to give up.

        ``code`` is its HTTP status.
        """
        overloaded = code == 429 or code >= 500
        if (
            not overloaded
            or not self._honors_retry_after
            or retry_after is None
            or self._retries >= self._limits.max_retries
        ):
            return None
        if not self._safe and code not in _NOT_BEGUN:
            return None
        self._retries += 1
        return retry_after

    def after_lost_connection(self) -> float | None:
        """Return the seconds until a reconnect, or ``None`` to give up.

        Called when the connection was lost or refused before a response.
        """
        if not self._safe or self._reconnects >= self._limits.max_reconnects:
            return None
        delay = _RECONNECT_DELAY * 2.0**self._reconnects
        self._reconnects += 1
        return delay * (1 + self._random.random())
