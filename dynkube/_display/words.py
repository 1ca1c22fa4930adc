"""A few words about what is not shown, or not all of it: how long it is, how large, how many."""

from __future__ import annotations

from collections.abc import Sequence


class Aside(str):
    """In the place of a value, words about it: shown as such, and not as a text that is there."""

    __slots__ = ()


def short(text: str, width: int) -> str:
    """At most ``width`` characters of a text; of a longer one it is said how long it is."""
    return text if len(text) <= width else f"{text[:width]}… ({len(text):,} characters)"


def several(texts: Sequence[str], most: int = 20, width: int = 120, *, separator: str = ", ") -> str:
    """Some of many texts beside each other, each of them cut, and how many more there are."""
    left = [f"… {len(texts) - most:,} more"] if len(texts) > most else []
    return separator.join([*(short(text, width) for text in texts[:most]), *left])


def size_text(size: int) -> str:
    """A number of bytes for people: ``312 bytes``, ``4.2 kB``, ``1.3 MB``."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 object``, ``1,200 objects``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
