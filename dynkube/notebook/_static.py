"""Renders a live table as text and HTML, for display without the widget."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import compress

from dynkube._display.cards import Block, Card, Grid, Line, Note, Span, Tone, line, muted
from dynkube._display.html import page
from dynkube._display.pills import pill
from dynkube._display.text import plain
from dynkube._text.ages import duration_text
from dynkube.notebook._columns import Cell, Kind
from dynkube.notebook._picture import Head, Picture, Row


def text_of(picture: Picture, now: datetime, rows: int = 20) -> str:
    """Render a snapshot as text, for terminals and saved notebooks."""
    return plain(_card(picture, now, rows))


def html_of(picture: Picture, now: datetime, rows: int = 200) -> str:
    """Render a snapshot as static HTML: the first ``rows`` and the number of the others. 200 rows block for 20 ms."""
    return page(_card(picture, now, rows))


def _card(picture: Picture, now: datetime, most: int) -> Card:
    return Card(_headline(picture.head), tuple(_blocks(picture, now, most)))


def _headline(head: Head) -> Line:
    return line(
        Span(head.title, Tone.STRONG),
        pill(head.phase, head.message),
        muted(head.reason),
        head.counts,
        muted(f"filter {head.filter}" if head.filter else ""),
    )


def _blocks(picture: Picture, now: datetime, most: int) -> Iterator[Block]:
    if picture.head.message:
        yield Note(line(picture.head.message))
    if picture.head.phase == "ABSENT":
        yield Note(line(muted("This is not an error: rows appear as soon as it is served.")))
    shown = [heading.shown for heading in picture.headings]
    tops = list(compress(picture.headings, shown))
    if picture.rows:
        rows = tuple(_cells(row, shown, now) for row in picture.rows[:most])
        right = frozenset(place for place, top in enumerate(tops) if top.kind is not Kind.TEXT)
        yield Grid(tuple(top.name for top in tops), rows, right)
    if len(picture.rows) > most:
        yield Note(line(muted(f"… {len(picture.rows) - most} more rows")))


def _cells(row: Row, shown: list[bool], now: datetime) -> tuple[Line, ...]:
    return tuple(line(_span(cell, now)) for cell in compress(row.cells, shown))


def _span(cell: Cell, now: datetime) -> Span:
    text = cell.text if cell.moment is None else duration_text(now.timestamp() - cell.moment)
    return Span(text, cell.tone, cell.title)
