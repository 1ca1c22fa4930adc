"""Limits the size of a card, whatever a view has put into it.

Views limit what they show for readability, and read no more than that. This is for unexpected data: a label of a
megabyte, a table of a thousand columns. What is cut is replaced by a count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from dynkube._display.cards import (
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
from dynkube._text.words import counted, short

MOST_COLUMNS: Final = 60
"""Columns of one table."""
_ROOM: Final = 80_000  # approximate bytes of a page; the plain-text fallback takes as many again
_NOTES: Final = 10_000  # additional bytes for the notes of views about what they have cut
_SHARE: Final = 3  # a section may use one third of what is left
_LINE: Final = 10  # bytes of markup for a line or a cell, and (_SPAN) for a span with a style
_SPAN: Final = 30
_NAME: Final = 120
_HEAD: Final = 600  # a namespace and a name use half of it

_Part = TypeVar("_Part")


def bounded(card: Card) -> Card:
    """Return the card, cut so that its page has at most about 200 kB.

    Nearly all cards are smaller and unchanged.
    """
    return _Room(_ROOM).card(card)


def newest(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the last of these lines: as many as a card has room for, beside its heading and a few notes."""
    room = _Room(_ROOM - _NOTES)
    for place in range(len(lines) - 1, -1, -1):
        room._line(lines[place])
        if room.left <= 0:
            return lines[place + 1 :]
    return lines


class _Room:
    """The remaining bytes of a page; each part uses some."""

    def __init__(self, left: int) -> None:
        self.left = left

    def card(self, card: Card) -> Card:
        head = tuple(Span(short(span.text, _HEAD), span.tone, span.title, span.chip) for span in card.head)
        return Card(self._line(head), tuple(self._blocks(card.blocks)))

    def _blocks(self, blocks: Sequence[Block]) -> Iterator[Block]:
        left_out = 0
        for block in blocks:
            if self.left > 0:
                yield from self._block(block)
            elif isinstance(block, Note) and self.left > -_NOTES:  # it may say how much is not shown
                text = self._name("".join(span.text for span in block.spans), _HEAD)
                yield Note((Span(text, block.spans[0].tone if block.spans else Tone.PLAIN),))
            else:
                left_out += 1
        if left_out:
            yield _left_out(left_out, "more part")

    def _block(self, block: Block) -> Iterator[Block]:
        match block:
            case Facts(rows):
                facts = tuple((self._name(name), self._line(value)) for name, value in self._while_room(rows))
                yield Facts(facts)
                yield from _rest(rows, facts, "more line")
            case Chips(spans):
                yield Chips(self._line(spans))
            case Grid():
                yield from self._grid(block)
            case Code(lines, tail):
                kept = tuple(map(self._line, self._while_room(lines)))
                yield Code(kept, tail)
                yield from _rest(lines, kept, "more line")
            case Note(spans):
                yield Note(self._line(spans))
            case Bullets(items):
                texts = tuple(self._name(short(item, _HEAD), _HEAD) for item in self._while_room(items))
                yield Bullets(texts)
                yield from _rest(items, texts, "more line")
            case Section():
                yield self._section(block)
            case Card():
                yield self.card(block)

    def _section(self, section: Section) -> Section:
        title, hint = self._name(section.title), self._name(section.hint, 2 * _HEAD)
        inner = _Room(self.left // _SHARE)
        before = inner.left
        blocks = tuple(inner._blocks(section.blocks))
        self.left -= before - inner.left
        return Section(title, blocks, hint, section.open)

    def _grid(self, grid: Grid) -> Iterator[Block]:
        columns = tuple(map(self._name, grid.columns[:MOST_COLUMNS]))
        rows = tuple(tuple(map(self._line, row[:MOST_COLUMNS])) for row in self._while_room(grid.rows))
        gap = grid.gap if grid.gap is not None and grid.gap[0] <= len(rows) else None
        yield Grid(columns, rows, grid.right, gap, grid.is_tree)
        yield from _rest(grid.columns, columns, "more column")
        yield from _rest(grid.rows, rows, "more row")

    def _while_room(self, parts: Sequence[_Part]) -> Iterator[_Part]:
        for part in parts:
            if self.left <= 0:
                return
            yield part

    def _name(self, text: str, most: int = _NAME) -> str:
        text = short(text, most)
        self.left -= _LINE + _weight(text)
        return text

    def _line(self, spans: Line) -> Line:
        self.left -= _LINE
        for place, span in enumerate(spans):
            if self.left <= 0:
                return (*spans[:place], muted(f"… {len(spans) - place:,} more"))
            is_plain = span.tone is Tone.PLAIN and not span.title and not span.chip
            self.left -= (1 if is_plain else _SPAN) + _weight(span.text) + _weight(span.title)
        return spans


def _weight(text: str) -> int:
    """Estimate the bytes of a string in HTML, with escapes and ``<wbr>``."""
    return len(text.encode(errors="replace")) + 4 * sum(map(text.count, "<>&\"'./,["))


def _rest(all_of_it: Sequence[object], kept: Sequence[object], what: str) -> Iterator[Note]:
    if len(kept) < len(all_of_it):
        yield _left_out(len(all_of_it) - len(kept), what)


def _left_out(number: int, what: str) -> Note:
    return Note(line(f"… {counted(number, what)}"))
