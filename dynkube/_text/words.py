"""Formatting of counts and sizes, and of strings that are cut."""

from __future__ import annotations

from collections.abc import Sequence


class Aside(str):
    """A remark in place of a value; rendered differently from a string value."""

    __slots__ = ()


def short(text: str, width: int) -> str:
    """Cut a string to ``width`` characters, followed by its length if it was longer."""
    return text if len(text) <= width else f"{text[:width]}… ({len(text):,} characters)"


def several(texts: Sequence[str], most: int = 20, width: int = 120, *, separator: str = ", ") -> str:
    """Join the first ``most`` strings, each cut, and the number of the others."""
    left = [f"… {len(texts) - most:,} more"] if len(texts) > most else []
    return separator.join([*(short(text, width) for text in texts[:most]), *left])


def size_text(size: int) -> str:
    """Format a number of bytes: ``312 bytes``, ``4.2 kB``, ``1.3 MB``."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def counted(number: int, one: str, many: str = "") -> str:
    """Format a count with its noun: ``1 object``, ``1,200 objects``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
