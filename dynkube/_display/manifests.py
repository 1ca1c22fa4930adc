"""Renderers of reports: a row for each object, and errors in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from dynkube._display.cards import Block, Card, Grid, Line, Note, Section, Span, Tone, line, muted
from dynkube._display.fields import MOST_YAML, diff_card_among
from dynkube._display.pills import pill
from dynkube._display.registry import card_of, render
from dynkube._displayable import Displayable
from dynkube._text.words import short
from dynkube.errors import ApplyConflict
from dynkube.manifests import DiffEntry, DiffReport, Entry, Report
from dynkube.manifests._report import TROUBLE

_ROWS: Final = 100
_DIFFS: Final = 20
_CONFLICTS: Final = 100  # fields of all conflicts together; the last conflict may exceed it
_MESSAGE: Final = 400
_COLUMNS: Final = ("OUTCOME", "OBJECT", "NAMESPACE", "SOURCE", "REASON")


@render.register(Report)
def report_card(report: Report, now: datetime) -> Card:
    """Return the card of a report, failures first."""
    entries = sorted(report, key=lambda entry: entry.outcome not in TROUBLE)
    blocks: list[Block] = []
    if entries:
        blocks.append(Grid(_COLUMNS, tuple(_row(entry) for entry in entries[:_ROWS])))
    if len(entries) > _ROWS:
        blocks.append(Note(line(f"{_ROWS} of {len(entries):,} shown")))
    blocks += _troubles([entry for entry in entries if entry.error is not None][:_DIFFS], now)
    tone = Tone.GOOD if report.ok else Tone.BAD
    return Card(line("apply", Span(report.summary, tone)), tuple(blocks))


def _row(entry: Entry) -> tuple[Line, ...]:
    return (
        line(pill(entry.outcome)),
        line(Span(short(entry.name, 200), Tone.STRONG)),
        line(short(entry.namespace, 80)),
        line(muted(short(entry.source, 200))),
        line(short(entry.reason, 200)),
    )


def _troubles(entries: Sequence[Entry], now: datetime) -> Iterator[Section]:
    room = _CONFLICTS
    for entry in entries:
        yield _error_section(entry, now, whole=room > 0)
        room -= len(entry.error.conflicts) if isinstance(entry.error, ApplyConflict) else 0


def _error_section(entry: Entry, now: datetime, *, whole: bool) -> Section:
    """Return the section of an error: its card, or its message if it has none or there is no room."""
    error = entry.error
    blocks: Sequence[Block] = (Note(line(Span(short(entry.message, _MESSAGE), Tone.BAD))),)
    if whole and isinstance(error, Displayable):
        blocks = (card_of(error, now),)
    return Section(short(entry.name or entry.source, 200), tuple(blocks), str(entry.outcome), open=True)


@render.register(DiffReport)
def differences_card(report: DiffReport, now: datetime) -> Card:
    """Return the card of a diff report."""
    entries = [entry for entry in report if entry.differs or entry.error is not None or entry.object is None]
    blocks = list(_differences(entries[:_DIFFS]))
    if len(entries) > _DIFFS:
        blocks.append(Note(line(f"{_DIFFS} of {len(entries):,} shown: print() has all")))
    tone = Tone.GOOD if report.ok else Tone.BAD
    return Card(line("diff", Span(report.summary, tone)), tuple(blocks))


def _differences(entries: Sequence[DiffEntry]) -> Iterator[Block]:
    room = MOST_YAML
    for entry in entries:
        if entry.diff is not None:
            card, room = diff_card_among(entry.diff, len(entries) - 1, room)
            yield card
        elif text := str(entry):
            yield Note(line(Span(short(text, _MESSAGE), Tone.BAD if entry.error is not None else Tone.INFO)))
