"""Lists as the plain-text tables that kubectl prints: ``str()`` and ``repr()`` of lists and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dynkube._text.tables import Table, json_cell, printable, shortened
from dynkube.meta._json import JSON

NOTHING: Final = "No resources found"
PRINTED_ROWS: Final = 500
"""Rows of ``str()``: more than a screen, and printed within milliseconds."""
PROMPT_ROWS: Final = 60
"""Rows of ``repr()``, as of a pandas ``DataFrame``: containers, tracebacks and logs call ``repr()`` unasked."""
_COLUMNS: Final = 60
_CELL: Final = 253  # characters: the longest name of an object fits
_LINE_END: Final = re.compile(r"[\n\r\f]")


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """One column of a plain-text table.

    Attributes:
        name: the heading.
        cell: returns the cell of a row, by its number.
        right: whether it is right-aligned (numbers).
    """

    name: str
    cell: Callable[[int], JSON]
    right: bool = False


def plain_table(columns: Sequence[PlainColumn], count: int, rows: int, *, remaining: int | None, more: bool) -> str:
    """Return a list as plain text; the last line says how many objects are left out.

    Args:
        columns: the columns; only cells that are printed are read.
        count: the number of objects.
        rows: the number of rows to print at most.
        remaining: the number of further objects on the server, if known.
        more: whether there are further objects on the server.
    """
    lines = [_grid(columns[:_COLUMNS], min(count, rows)) if count else NOTHING]
    if count > rows:
        lines.append(f"... {count - rows:,} more of {count:,} objects")
    if len(columns) > _COLUMNS and count:
        lines.append(f"... {len(columns) - _COLUMNS:,} more columns")
    if remaining:
        lines.append(f"... {remaining:,} more on the server")
    elif more:
        lines.append("... more on the server")
    return "\n".join(lines)


def _grid(columns: Sequence[PlainColumn], rows: int) -> str:
    # Table aligns by heading: columns of the same name are aligned alike.
    headings = tuple(printable(cell_text(column.name)).upper() for column in columns)
    right = frozenset(name for name, column in zip(headings, columns, strict=True) if column.right)
    cells = tuple(tuple(cell_text(column.cell(row)) for column in columns) for row in range(rows))
    return str(Table(headings, cells, right))


def cell_text(value: JSON) -> str:
    """Return a cell as kubectl prints it: strings up to the end of their first line, nothing for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json_cell(value, _CELL)
    first = _LINE_END.split(value[: _CELL + 1], maxsplit=1)[0]
    return shortened(value, _CELL) if first == value[: _CELL + 1] else f"{first}..."
