"""Cards: a rendering-independent description of lines, chips, tables and sections.

Views make cards of plain data, without HTML or terminal codes; only the renderers (``html``, ``text``) turn them into
output. So escaping of data from the cluster is done in one place for each output format.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from dynkube._text.colours import COLOURS, colour_of

MOST: Final = 4000
"""The maximum number of characters in one span."""


class Tone(StrEnum):
    """The style of a span; the renderers have a colour or weight for each.

    ``HUE0`` and the following only tell names apart, see :func:`hue`.
    """

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
    HUE0 = "hue0"
    HUE1 = "hue1"
    HUE2 = "hue2"
    HUE3 = "hue3"
    HUE4 = "hue4"
    HUE5 = "hue5"
    HUE6 = "hue6"
    HUE7 = "hue7"
    HUE8 = "hue8"
    HUE9 = "hue9"


HUES: Final = tuple(Tone(f"hue{number}") for number in range(COLOURS))
"""The colours of names, by number."""


def hue(name: str) -> Tone:
    """Return the colour of a name, always the same one."""
    return HUES[colour_of(name)]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of styled text.

    Attributes:
        text: unescaped; renderers escape it.
        tone: the style.
        title: the tooltip in notebooks.
        chip: whether it is drawn as a label.
    """

    text: str
    tone: Tone = Tone.PLAIN
    title: str = ""
    chip: bool = False

    def __post_init__(self) -> None:
        # Views limit the length of what they show; this is for unexpectedly long strings.
        for name in ("text", "title"):
            value = getattr(self, name)
            if len(value) > MOST:
                object.__setattr__(self, name, f"{value[:MOST]}… ({len(value):,} characters)")


Line: TypeAlias = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """Return a line of spans; strings become plain spans, and empty ones are left out."""
    spans = (Span(part) if isinstance(part, str) else part for part in parts)
    return tuple(span for span in spans if span.text)


def muted(text: str) -> Span:
    """Return a span of secondary text."""
    return Span(text, Tone.MUTED)


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one pair per line."""

    rows: tuple[tuple[str, Line], ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str | Span | Line]]) -> Facts:
        """Make facts of pairs, leaving out those with an empty value."""
        lines = ((name, value if isinstance(value, tuple) else line(value)) for name, value in rows)
        return cls(tuple((name, value) for name, value in lines if value))


@dataclass(frozen=True, slots=True)
class Chips:
    """Short texts in a row, each in a box of its own."""

    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        columns: the headings.
        rows: one cell for each heading.
        right: the positions of right-aligned columns (numbers).
        gap: if rows are left out: the index of the row after the gap, and the text shown in the gap.
        is_tree: whether the first column is drawn as a tree, with lines that continue from row to row.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    right: frozenset[int] = frozenset()
    gap: tuple[int, str] | None = None
    is_tree: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted lines, such as YAML.

    Attributes:
        lines: the lines.
        tail: whether a notebook shows the end of many lines first, and scrolls up to the others.
    """

    lines: tuple[Line, ...]
    tail: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence beside the data."""

    spans: Line


@dataclass(frozen=True, slots=True)
class Bullets:
    """A bullet list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A foldable section in a notebook; one line in a terminal unless open.

    Attributes:
        title: the heading.
        blocks: the content.
        hint: secondary text beside the title, such as a summary of the content.
        open: whether it is initially unfolded.
    """

    title: str
    blocks: tuple[Block, ...]
    hint: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """A heading of spans separated by dots, and blocks below it."""

    head: Line
    blocks: tuple[Block, ...] = ()


Block: TypeAlias = "Facts | Chips | Grid | Code | Note | Bullets | Section | Card"
