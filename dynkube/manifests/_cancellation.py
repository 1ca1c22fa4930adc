"""Stops a run of ``apply_all``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Stop:
    """Stops sending requests, and cancels waits (but not waits for responses)."""

    def __init__(self) -> None:
        self.reason = ""
        """Why nothing more is sent; ``""`` while it continues."""
        self._scopes: set[trio.CancelScope] = set()

    def cancel(self, reason: str) -> None:
        """Send nothing more. The first reason is kept."""
        self.reason = self.reason or reason
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Cancel the block when the run stops; check :attr:`reason` afterwards."""
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            if self.reason:
                scope.cancel()
            try:
                yield
            finally:
                self._scopes.discard(scope)
