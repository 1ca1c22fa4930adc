"""What something shows of itself, before anybody has said where: a card of lines, chips, tables and sections.

A view makes a card of plain data, and does not know of HTML or terminals; the renderers (``html``, ``text``) know of
nothing else. So each of them is the one place where whatever a cluster said is made safe to show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

MOST: Final = 4000
"""Characters in one piece of text."""


class Tone(StrEnum):
    """How a piece of text is meant; the renderers have a colour or weight for each."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    KEY = "key"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    INFO = "info"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text.

    Attributes:
        text: as it came; renderers make it safe.
        tone: how it is meant.
        title: what a notebook tells of it where the mouse rests.
        chip: whether it stands out as a label of its own.
    """

    text: str
    tone: Tone = Tone.PLAIN
    title: str = ""
    chip: bool = False

    def __post_init__(self) -> None:
        # Views cut what they show to what fits; this is for what none of them expected to be long.
        for name in ("text", "title"):
            said = getattr(self, name)
            if len(said) > MOST:
                object.__setattr__(self, name, f"{said[:MOST]}… ({len(said):,} characters)")


Line: TypeAlias = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line of pieces; texts are plain ones, and empty ones are left out."""
    spans = (Span(part) if isinstance(part, str) else part for part in parts)
    return tuple(span for span in spans if span.text)


def muted(text: str) -> Span:
    """Text that matters less than what surrounds it."""
    return Span(text, Tone.MUTED)


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they stand for, one a line."""

    rows: tuple[tuple[str, Line], ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str | Span | Line]]) -> Facts:
        """Those that have anything to say."""
        lines = ((name, said if isinstance(said, tuple) else line(said)) for name, said in rows)
        return cls(tuple((name, said) for name, said in lines if said))


@dataclass(frozen=True, slots=True)
class Chips:
    """Labels in a row."""

    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        columns: the headings.
        rows: one cell for each heading.
        right: positions of the columns of numbers, which are aligned at their end.
        gap: where rows are left out, before which row, and what is said in their place.
        is_tree: whether the first column is drawn with lines that go on from row to row.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    right: frozenset[int] = frozenset()
    gap: tuple[int, str] | None = None
    is_tree: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that keep their columns: YAML, a tree."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence beside the data."""

    spans: Line


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences of equal weight."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """What is shown when somebody asks for it: folded away in a notebook, one line in a terminal.

    Attributes:
        title: what it is.
        blocks: what is in it.
        hint: more beside the title, as what is inside.
        open: whether it is unfolded to begin with.
    """

    title: str
    blocks: tuple[Block, ...]
    hint: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """What something shows: a heading of parts with dots between them, and blocks under it."""

    head: Line
    blocks: tuple[Block, ...] = ()


Block: TypeAlias = "Facts | Chips | Grid | Code | Note | Bullets | Section | Card"
