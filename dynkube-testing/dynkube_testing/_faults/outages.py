"""Failures that last until they are removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self


class Outage:
    """A failure of the whole server, such as refused connections, until it is removed.

    Use it as a context manager to remove it at the end of a block.
    """

    def __init__(self, name: str, remove: Callable[[Outage], None]) -> None:
        self._name = name
        self._remove = remove
        self._over = False

    def remove(self) -> None:
        """End the failure. Idempotent."""
        if not self._over:
            self._over = True
            self._remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Outage {self._name}{', over' if self._over else ''}>"
