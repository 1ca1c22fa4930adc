"""Notebook display of a :class:`Diff`.

It is a table of fields, with status collapsed, and YAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from dynkube._display import Block, Card, Code, Grid, Line, Note, Section, Span, Tone, line, muted
from dynkube._text.tables import json_cell
from dynkube._text.words import counted, short
from dynkube.fields import Field
from dynkube.meta import MISSING
from dynkube.meta._secrets import LAST_APPLIED

if TYPE_CHECKING:
    from dynkube.fields._diff.diff import Diff, FieldChange

ROWS: Final = 100
"""Maximum number of fields shown."""
_LINES: Final = 300
_WIDTH: Final = 200
_VALUE: Final = 80
_STATUS: Final = (Field("status"),)
_COPY: Final = (Field("metadata"), Field("annotations"), Field(LAST_APPLIED))
_TONES: Final = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.MUTED}
MOST_YAML: Final = 30_000
"""Maximum characters compared line by line for a card, which takes 20 ms, as few readers open that section. Use
``print(diff)`` for larger ones."""


def diff_card(diff: Diff, note: str, most_rows: int = ROWS, most_yaml: int = MOST_YAML) -> Card:
    """Return the card of a diff.

    Args:
        diff: the diff.
        note: a remark on ownership.
        most_rows: maximum number of fields shown.
        most_yaml: maximum size of both states for a comparison line by line.
    """
    head = line(Span(diff.subject, Tone.STRONG), " → ".join(diff.names), _count(diff))
    return Card(head, tuple(_blocks(diff, note, most_rows, most_yaml)))


def size_of(diff: Diff, most: int = MOST_YAML) -> int:
    """Estimate the characters of both states; stops at ``most``."""
    size = 0
    pending: list[object] = [diff.before, diff.after]
    while pending and size <= most:
        value = pending.pop()
        if isinstance(value, dict):
            for name, part in islice(value.items(), most + 1):
                size += len(name) + 4
                pending.append(part)
        elif isinstance(value, list):
            pending += islice(value, most + 1)
        else:
            size += len(value) if isinstance(value, str) else 8
    return size


def _count(diff: Diff) -> Span:
    return Span(f"{counted(len(diff.changes), 'field')} differ{'s' if len(diff.changes) == 1 else ''}" if diff else "")


def _blocks(diff: Diff, note: str, most_rows: int, most_yaml: int) -> Iterator[Block]:
    if not diff:
        yield Note(line("Nothing differs."))
        return
    parts: dict[str, list[FieldChange]] = {}
    for change in diff.changes:
        parts.setdefault(_part(change), []).append(change)
    if "" in parts:
        yield from _grid(parts[""], diff.names, most_rows)
    if note:
        yield Note(line(Span(note, Tone.WARN)))
    for name in sorted(parts.keys() - {""}):
        changes = parts[name]
        yield Section(
            name, tuple(_grid(changes, diff.names, most_rows)), counted(len(changes), "field"), open="" not in parts
        )
    yield from _as_yaml(diff, most_yaml)


def _part(change: FieldChange) -> str:
    """Return the collapsed section of a change: status, or the last-applied annotation; ``""`` for neither."""
    steps = change.path.steps
    if steps[:1] == _STATUS:
        return "status"
    return "annotation" if steps == _COPY else ""


def _grid(changes: Sequence[FieldChange], names: tuple[str, str], most: int) -> Iterator[Block]:
    owned = any(change.managers for change in changes)
    columns = ("FIELD", *(name.upper() for name in names), *(("MANAGER",) if owned else ()))
    yield Grid(columns, tuple(_row(change, owned) for change in changes[:most]))
    if len(changes) > most:
        yield Note(line(f"{most} of {len(changes):,} shown"))


def _row(change: FieldChange, owned: bool) -> tuple[Line, ...]:
    managers = short(", ".join(map(str, change.managers[:5])), 200)
    cells = (
        line(short(str(change.path), 300)),
        line(Span(_cell(change.before), Tone.REMOVED)),
        line(Span(_cell(change.after), Tone.ADDED)),
    )
    return (*cells, line(muted(managers))) if owned else cells


def _cell(value: Any) -> str:
    return "" if value is MISSING else json_cell(value, _VALUE)


def _as_yaml(diff: Diff, most: int) -> Iterator[Block]:
    if size_of(diff, most) > most:
        yield Note(line("As YAML it is long: print() it."))
        return
    text = str(diff).splitlines()
    if not text:  # the difference is not visible in YAML, such as the order of fields
        return
    if text[0].startswith("--- "):
        del text[:2]  # the names are in the head of the card
    lines = [(Span(short(each, _WIDTH), _tone(each)),) for each in text[:_LINES]]
    if len(text) > _LINES:
        lines.append((muted(f"… {len(text) - _LINES:,} more lines: print() it"),))
    yield Section("as YAML", (Code(tuple(lines)),), "print() shows it too")


def _tone(text: str) -> Tone:
    return _TONES.get(text[:1], Tone.PLAIN)
