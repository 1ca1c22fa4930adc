"""Helpers for tests of ``watch``: a sink for lines, and a fixed clock."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = datetime(2026, 1, 2, 12, 0, 1, tzinfo=UTC)


def noon() -> datetime:
    return NOON


class Sink:
    """Collects lines of output."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def line(self, text: str | bytes) -> None:
        self.lines.append(text.decode() if isinstance(text, bytes) else text)
