"""What the tests of ``watch`` share: where lines go, and a clock that stands."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = datetime(2026, 1, 2, 12, 0, 1, tzinfo=UTC)


def noon() -> datetime:
    return NOON


class Sink:
    """Collects lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def line(self, text: str | bytes) -> None:
        self.lines.append(text.decode() if isinstance(text, bytes) else text)
