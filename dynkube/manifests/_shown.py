"""How reports on many objects show themselves: a line for each, and what went wrong in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from dynkube._display import Block, Card, Grid, Line, Note, Section, Shown, Span, Tone, line, muted, pill, short

if TYPE_CHECKING:
    from dynkube.manifests._diff_report import DiffEntry, DiffReport
    from dynkube.manifests._report import Entry, Report

_ROWS: Final = 100
_DIFFS: Final = 20
_MESSAGE: Final = 400
_COLUMNS: Final = ("OUTCOME", "OBJECT", "NAMESPACE", "SOURCE", "REASON")


def report_card(report: Report, now: datetime) -> Card:
    """What became of many objects: what went wrong first, as that is why one looks."""
    from dynkube.manifests._report import TROUBLE

    entries = sorted(report, key=lambda entry: entry.outcome not in TROUBLE)
    blocks: list[Block] = []
    if entries:
        blocks.append(Grid(_COLUMNS, tuple(_row(entry) for entry in entries[:_ROWS])))
    if len(entries) > _ROWS:
        blocks.append(Note(line(f"{_ROWS} of {len(entries):,} shown")))
    troubled = [entry for entry in entries if entry.error is not None]
    blocks += [_trouble(entry, now) for entry in troubled[:_DIFFS]]
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


def _trouble(entry: Entry, now: datetime) -> Section:
    """An error as it shows itself; by its message if it does not."""
    error = entry.error
    blocks: Sequence[Block] = (Note(line(Span(short(entry.message, _MESSAGE), Tone.BAD))),)
    if isinstance(error, Shown):
        blocks = (error._card(now),)  # what all that are shown have
    return Section(short(entry.name or entry.source, 200), tuple(blocks), str(entry.outcome), open=True)


def differences_card(report: DiffReport, now: datetime) -> Card:
    """What applying many objects would change."""
    entries = [entry for entry in report if entry.differs or entry.error is not None or entry.object is None]
    blocks = [block for entry in entries[:_DIFFS] for block in _difference(entry, now)]
    if len(entries) > _DIFFS:
        blocks.append(Note(line(f"{_DIFFS} of {len(entries):,} shown: print() has all")))
    tone = Tone.GOOD if report.ok else Tone.BAD
    return Card(line("diff", Span(report.summary, tone)), tuple(blocks))


def _difference(entry: DiffEntry, now: datetime) -> Iterator[Block]:
    if entry.diff is not None:
        yield entry.diff._card(now)  # as above
    elif said := str(entry):
        yield Note(line(Span(short(said, _MESSAGE), Tone.BAD if entry.error is not None else Tone.INFO)))
