"""Notebook display of a :class:`Diff`: a table of fields, and a YAML diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from dynkube._display.cards import Block, Card, Code, Grid, Line, Note, Section, Span, Tone, line, muted
from dynkube._display.registry import render
from dynkube._text.ages import age_of
from dynkube._text.tables import json_cell
from dynkube._text.words import counted, several, short
from dynkube.fields import Comparison, Diff, Field, FieldChange, FieldSet, Owners
from dynkube.meta import MISSING
from dynkube.meta._secrets import LAST_APPLIED

_FIELDS: Final = 100  # of a diff or of a set
_OBJECTS: Final = 100  # of a comparison
_SECTIONS: Final = 20
_OWNERS: Final = 200
_LINES: Final = 300
_WIDTH: Final = 200
_VALUE: Final = 80
_STATUS: Final = (Field("status"),)
_COPY: Final = (Field("metadata"), Field("annotations"), Field(LAST_APPLIED))
_TONES: Final = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.MUTED}
MOST_YAML: Final = 30_000
"""Maximum characters for the unified diff in a card. Comparing these takes 20 ms, which has to be short, as few users
open that section. Use ``print(diff)`` for larger objects."""


@render.register(Diff)
def diff_card(diff: Diff, now: datetime) -> Card:
    """Return the card of a diff."""
    return _diff_card(diff, _FIELDS, MOST_YAML)


def diff_card_among(diff: Diff, others: int, room: int) -> tuple[Card, int]:
    """Return the card of one of several diffs on a page, with fewer rows, and the room left for YAML.

    Args:
        diff: the diff.
        others: the number of other diffs.
        room: maximum size of both states for a comparison line by line.
    """
    rows = max(10, min(_FIELDS, 3 * _FIELDS // (1 + others)))
    return _diff_card(diff, rows, room), max(0, room - _size_of(diff))


@render.register(Comparison)
def comparison_card(comparison: Comparison, now: datetime) -> Card:
    """Return the card of a comparison: a row for each object, and the fields of the first ones in both collections."""
    rows = tuple(
        (line(Span(short(diff.subject, _WIDTH), Tone.STRONG)), line(short(comparison.about(diff), 2 * _WIDTH)))
        for diff in comparison[:_OBJECTS]
    )
    blocks: list[Block] = [Grid(("OBJECT", "DIFFERENCE"), rows)] if rows else []
    if len(comparison) > _OBJECTS:
        blocks.append(Note(line(f"{_OBJECTS} of {len(comparison):,} objects shown: print() has all")))
    changed, room = comparison.changed[:_SECTIONS], MOST_YAML
    for diff in changed:
        card, room = diff_card_among(diff, len(changed) - 1, room)
        blocks.append(Section(short(diff.subject, _WIDTH), card.blocks, _count(diff).text))
    head = line(Span(" → ".join(comparison.names), Tone.STRONG), comparison.summary)
    return Card(head, tuple(blocks))


@render.register(Owners)
def owners_card(owners: Owners, now: datetime) -> Card:
    """Return the card of the owners of fields: a row for each field and manager."""
    rows = (
        (
            line(short(str(path), 300) if place == 0 else ""),
            line(Span(manager.name, Tone.STRONG)),
            line(f"{manager.operation} {manager.subresource}".strip()),
            line(muted(age_of(manager.time, now))),
        )
        for path, found in owners.items()
        for place, manager in enumerate(found)
    )
    head = line("owners", counted(len(owners), "field"), several(list(map(str, owners.managers()))))
    shown, count = tuple(islice(rows, _OWNERS)), sum(map(len, owners.values()))
    cut = [Note(line(f"{_OWNERS} of {count:,} rows shown: see within()"))] if count > _OWNERS else []
    return Card(head, (Grid(("FIELD", "MANAGER", "OPERATION", "AGE"), shown), *cut) if shown else ())


@render.register(FieldSet)
def field_set_card(fields: FieldSet, now: datetime) -> Card:
    """Return the card of a set of fields: their paths."""
    lines = [line(short(str(path), 300)) for path in islice(fields, _FIELDS)]
    if len(fields) > _FIELDS:
        lines.append(line(muted(f"… {len(fields) - _FIELDS:,} more")))
    return Card(line("fields", counted(len(fields), "field")), (Code(tuple(lines)),) if lines else ())


def _diff_card(diff: Diff, most_rows: int, most_yaml: int) -> Card:
    head = line(Span(diff.subject, Tone.STRONG), " → ".join(diff.names), _count(diff))
    return Card(head, tuple(_blocks(diff, most_rows, most_yaml)))


def _size_of(diff: Diff, most: int = MOST_YAML) -> int:
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


def _blocks(diff: Diff, most_rows: int, most_yaml: int) -> Iterator[Block]:
    if not diff:
        yield Note(line("Nothing differs."))
        return
    parts: dict[str, list[FieldChange]] = {}
    for change in diff.changes:
        parts.setdefault(_part(change), []).append(change)
    if "" in parts:
        yield from _grid(parts[""], diff.names, most_rows)
    if note := diff._note():
        yield Note(line(Span(note, Tone.WARN)))
    for name in sorted(parts.keys() - {""}):
        changes = parts[name]
        yield Section(
            name, tuple(_grid(changes, diff.names, most_rows)), counted(len(changes), "field"), open="" not in parts
        )
    yield from _as_yaml(diff, most_yaml)


def _part(change: FieldChange) -> str:
    """Return the collapsed section of a change: "status", "annotation" or ""."""
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
    if _size_of(diff, most) > most:
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
