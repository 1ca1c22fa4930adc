"""Text made safe to show, and tables of it for whoever prints one.

Names, messages and values come from servers and files. In text nothing in them may steer a terminal, in HTML
nothing in them may be markup. Columns are aligned by characters, so wide ones (as in Chinese) shift a line.
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
    """Rows of text under headings.

    Attributes:
        columns: the headings.
        rows: one cell for each heading.
        right: the headings of columns of numbers, which are aligned at their end.
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
    """``text`` without what could steer a terminal, or show another order than there is.

    Control characters (also those from U+0080 on), marks of direction and what has no width become U+FFFD, but for
    those in ``keep``; spaces of any kind become spaces.
    """
    if text.isprintable():
        return text
    text = text.translate(_SPACES)
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def html_text(text: str) -> str:
    """``text`` as part of a page: no markup in it counts, and no control character is left."""
    return escape(printable(text, keep="\n\t"))


def shortened(text: str, width: int) -> str:
    """At most ``width`` characters of a text; the end of a longer one becomes ``...``."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def json_cell(value: object, width: int = 60) -> str:
    """A value of an object in at most ``width`` characters of JSON, as in ``"web:1"`` or ``{"app": "web"}``."""
    # What is no JSON (bytes from somewhere) must not keep an error from being shown.
    return shortened(json.dumps(_beginning(value, [width + 1]), ensure_ascii=False, default=repr), width)


def _beginning(value: object, room: list[int]) -> object:
    """As much of a value as may count for the first characters of it: of a megabyte no more than that is written.

    Args:
        value: some JSON.
        room: how many characters are left, which each part takes as many of as it surely needs.
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
            key = _beginning(name, room)  # which comes first
            while key in part:  # two that were cut to the same beginning: what follows it is not shown
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
