"""Whether a run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Stop:
    """Whether anything more is sent; what waits for something else than an answer stops waiting."""

    def __init__(self) -> None:
        self.reason = ""
        """Why nothing more is sent; ``""`` while it goes on."""
        self._scopes: set[trio.CancelScope] = set()

    def because(self, reason: str) -> None:
        """Send nothing more. The first reason counts."""
        self.reason = self.reason or reason
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Give up what is inside when it stops; what comes after has to look at :attr:`reason`."""
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            if self.reason:
                scope.cancel()
            try:
                yield
            finally:
                self._scopes.discard(scope)
