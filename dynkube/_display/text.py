"""Renders cards as text, for terminals and for notebooks without styles.

Control characters are replaced. Columns are aligned by the number of characters, so wide characters (as in Chinese)
shift a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dynkube._display.bounds import bounded
from dynkube._display.cards import (
    HUES,
    Block,
    Bullets,
    Card,
    Chips,
    Code,
    Facts,
    Grid,
    Line,
    Note,
    Section,
    Span,
    Tone,
    line,
    muted,
)
from dynkube._text.tables import printable

if TYPE_CHECKING:
    from rich.text import Text

_RICH: Final = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.MUTED: "dim",
    Tone.KEY: "cyan",
    Tone.GOOD: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "red",
    Tone.INFO: "blue",
    Tone.ADDED: "green",
    Tone.REMOVED: "red",
    **dict(zip(HUES, ("green", "yellow", "blue", "magenta", "cyan") * 2, strict=True)),
}
_DOT: Final = muted(" · ")
_WIDEST: Final = 120


# Newlines in messages become spaces: one line stays one line of the same width.
_BLANKS: Final = str.maketrans("\n\r", "  ")


def plain(card: Card) -> str:
    """Return a card as text."""
    return plain_of(bounded(card))


def plain_of(card: Card) -> str:
    """Return a card as text, without cutting it: the caller has called ``bounded``."""
    return "\n".join("".join(span.text for span in each).rstrip() for each in _safe_lines(card))


def rich_text(card: Card) -> Text:
    """Return a card as styled rich text; data cannot inject console markup."""
    from rich.text import Text  # optional; rich is the caller

    text = Text()
    for number, each in enumerate(_safe_lines(bounded(card))):
        text.append("\n" if number else "")
        for span in each:
            text.append(span.text, style=_RICH[span.tone])
    return text


def _safe_lines(card: Card) -> Iterator[Line]:
    """Yield a card as lines that are safe to print."""
    for each in _card(card):
        yield tuple(map(_safe, each))


def _safe(span: Span) -> Span:
    if span.text.isprintable():
        return span
    return Span(printable(span.text.translate(_BLANKS), keep="\t"), span.tone)


def _card(card: Card) -> Iterator[Line]:
    if card.head:
        yield tuple(part for span in card.head for part in (_DOT, span))[1:]
    for block in card.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[Line]:
    match block:
        case Facts(rows):
            width = max((len(name) for name, _ in rows), default=0)
            for name, value in rows:
                yield (Span(f"{name.ljust(width)}  ", Tone.MUTED), *value)
        case Chips(spans):
            yield tuple(part for span in spans for part in (Span("  "), span))[1:]
        case Grid():
            yield from _grid(block)
        case Code(lines):
            yield from lines
        case Note(spans):
            yield spans
        case Bullets(items):
            yield from (line("- ", item) for item in items)
        case Section():
            yield from _section(block)
        case Card():
            yield from _card(block)


def _section(section: Section) -> Iterator[Line]:
    hint = f"  {section.hint}" if section.hint else ""
    yield line(muted("- " if section.open else "+ "), Span(section.title, Tone.STRONG), muted(hint))
    if section.open:
        for block in section.blocks:
            yield from ((Span("  "), *each) for each in _block(block))


def _grid(grid: Grid) -> Iterator[Line]:
    rows: list[tuple[Line, ...]] = [tuple((Span(name, Tone.MUTED),) for name in grid.columns), *grid.rows]
    # A cell wider than most screens shifts the rest of its own line, and does not pad other lines.
    widths = [min(_WIDEST, max(_width(row[at]) for row in rows)) for at in range(len(grid.columns))]
    for number, row in enumerate(rows):
        if grid.gap is not None and number == grid.gap[0] + 1:
            yield (muted(grid.gap[1]),)
        cells: list[Span] = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            padding = Span(" " * (width - _width(cell)))
            cells += [Span("  " if at else ""), *((padding, *cell) if at in grid.right else (*cell, padding))]
        yield tuple(cells)


def _width(cell: Line) -> int:
    return sum(len(span.text) for span in cell)
