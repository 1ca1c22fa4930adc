"""The messages from the kernel to the page: a whole table, or a difference.

They are JSON, with data and no markup. ``seq`` numbers the messages, so that a page that missed one requests the whole
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from dynkube._display.cards import Tone
from dynkube._display.pills import pill
from dynkube._text.tables import printable
from dynkube._text.words import short
from dynkube.notebook._columns import Cell
from dynkube.notebook._picture import Head, Heading, Picture, Row

Message: TypeAlias = "dict[str, Any]"
"""A JSON object."""

_SAID: Final = 2000
"""The maximum number of characters of each string in the header."""


def table_message(picture: Picture) -> Message:
    """Return a message with the whole table."""
    return {
        "kind": "table",
        "head": _head(picture.head),
        "columns": _columns(picture.headings),
        "rows": [_row(row) for row in picture.rows],
    }


def delta_message(old: Picture, new: Picture) -> Message | None:
    """Return a message with the difference; ``None`` if there is none.

    The whole table if the columns differ. ``put`` has only the cells that changed, by column number.
    """
    if [heading.name for heading in old.headings] != [heading.name for heading in new.headings]:
        return table_message(new)
    message: Message = {"kind": "delta"}
    if old.head != new.head:
        message["head"] = _head(new.head)
    if old.headings != new.headings:
        message["columns"] = _columns(new.headings)
    known = {row.id: row for row in old.rows}
    if added := [_row(row) for row in new.rows if row.id not in known]:
        message["add"] = added
    if changed := [_changes(known[row.id], row) for row in new.rows if row.id in known and known[row.id] != row]:
        message["put"] = changed
    if gone := list(known.keys() - {row.id for row in new.rows}):
        message["drop"] = sorted(gone)
    if new.head.view is not None and (order := [row.id for row in new.rows]) != [row.id for row in old.rows]:
        message["order"] = order
    return message if len(message) > 1 else None


def _changes(old: Row, new: Row) -> list[Any]:
    cells = {
        str(place): _cell(after)
        for place, (before, after) in enumerate(zip(old.cells, new.cells, strict=True))
        if before != after
    }
    return [new.id, new.version, cells]


def _row(row: Row) -> list[Any]:
    return [row.id, row.version, [_cell(cell) for cell in row.cells]]


def _cell(cell: Cell) -> str | dict[str, Any]:
    """Return a string, or for a cell with a style a map of ``t``: text, ``c``: tone, ``h``: title, ``at``: moment."""
    if cell.tone is Tone.PLAIN and not cell.title and cell.moment is None:  # most cells, of up to 20,000
        return cell.text
    encoded: dict[str, Any] = {"t": cell.text}
    if cell.tone is not Tone.PLAIN:
        encoded["c"] = str(cell.tone)
    if cell.title:
        encoded["h"] = cell.title
    if cell.moment is not None:
        encoded["at"] = cell.moment
    return encoded


def _head(head: Head) -> Message:
    texts = {name: _safe(value) if isinstance(value, str) else value for name, value in asdict(head).items()}
    return {**texts, "counts": head.counts, "tone": str(pill(head.phase).tone)}


def _safe(text: str) -> str:
    """Return a string from a server, filter or error, safe to show and at most 2,000 characters long."""
    return printable(short(text, _SAID), keep="\n")


def _columns(columns: Sequence[Heading]) -> list[Message]:
    return [
        {"name": column.name, "kind": str(column.kind), "title": column.title, "shown": column.shown}
        for column in columns
    ]
