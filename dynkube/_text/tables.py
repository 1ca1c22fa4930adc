"""Escaping of strings for terminals and HTML, and plain-text tables.

Names, messages and values come from servers and files: they must not control a terminal or contain markup. Columns are
aligned by the number of characters, so wide characters (as in Chinese) shift a line.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_SPACES: Final = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")


@dataclass(frozen=True, slots=True)
class Table:
    """A plain-text table; ``str()`` renders it.

    Attributes:
        columns: the headings.
        rows: one cell for each heading.
        right: the headings of right-aligned columns (numbers).
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()

    def __str__(self) -> str:
        rows = [self.columns, *(tuple(map(printable, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(self._line(row, widths) for row in rows)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        aligned = (
            cell.rjust(width) if name in self.right else cell.ljust(width)
            for name, cell, width in zip(self.columns, cells, widths, strict=True)
        )
        return "  ".join(aligned).rstrip()


def printable(text: str, *, keep: str = "") -> str:
    """Replace characters that could control a terminal or reorder the text.

    Control characters (C0 and C1), bidirectional marks and zero-width characters become U+FFFD, except those in
    ``keep``; all kinds of spaces become U+0020.
    """
    if text.isprintable():
        return text
    text = text.translate(_SPACES)
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def html_text(text: str) -> str:
    """Escape ``text`` for HTML, and replace control characters."""
    return escape(printable(text, keep="\n\t"))


def shortened(text: str, width: int) -> str:
    """Cut a string to ``width`` characters, the last three being ``...``."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def json_cell(value: object, width: int = 60) -> str:
    """Return a value as at most ``width`` characters of JSON: ``{"app": "web"}``."""
    # default=repr: a value that is not JSON (such as bytes) must not prevent an error message.
    return shortened(json.dumps(_beginning(value, [width + 1]), ensure_ascii=False, default=repr), width)


def _beginning(value: object, room: list[int]) -> object:
    """Return the beginning of a value, to serialize no more than is shown.

    Args:
        value: a JSON value.
        room: a list with the number of characters left; each part subtracts a lower bound of its length.
    """
    room[0] -= 1
    if isinstance(value, str):
        value = value[: max(0, room[0])]
        room[0] -= len(value)
    elif isinstance(value, dict):
        part: dict[object, object] = {}
        for name, inner in value.items():
            if room[0] <= 0:
                break
            key = _beginning(name, room)  # serialized before the value
            while key in part:  # two keys were cut to the same string; what follows it is not shown
                key = f"{key}…"
            part[key] = _beginning(inner, room)
        return part
    elif isinstance(value, list):
        parts: list[object] = []
        for inner in value:
            if room[0] <= 0:
                break
            parts.append(_beginning(inner, room))
        return parts
    return value
