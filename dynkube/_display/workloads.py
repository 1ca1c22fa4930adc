"""Renderers of rollouts, revisions and drained nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dynkube._display.cards import Block, Bullets, Card, Facts, Grid, Line, Note, Span, Tone, line, muted
from dynkube._display.health import condition_chips
from dynkube._display.pills import pill
from dynkube._display.registry import render
from dynkube._text.ages import age_of
from dynkube._text.words import counted, several, short
from dynkube.workloads import DrainReport, PodOutcome, Revision, RolloutHistory, RolloutPhase, RolloutStatus

_BAR: Final = 30  # characters
_ITEMS: Final = 20
_ROWS: Final = 100
_AT_THE_END: Final = frozenset({PodOutcome.EVICTED, PodOutcome.SKIPPED})
_TONES: Final = {
    RolloutPhase.COMPLETE: Tone.GOOD,
    RolloutPhase.PROGRESSING: Tone.INFO,
    RolloutPhase.FAILED: Tone.BAD,
    RolloutPhase.UNSUPPORTED: Tone.WARN,
    RolloutPhase.UNKNOWN: Tone.WARN,
}


def progress_line(share: float | None, tone: Tone, text: str) -> Line:
    """Return a progress bar of characters, and text beside it; only the text if the share is unknown.

    Args:
        share: from 0.0 to 1.0.
        tone: the colour of the part that is done.
        text: the text.
    """
    if share is None:
        return line(text)
    done = round(share * _BAR)
    return line(Span("█" * done, tone), muted("░" * (_BAR - done)), f" {text}")


@render.register(RolloutStatus)
def rollout_card(status: RolloutStatus, now: datetime) -> Card:
    """Return the card of a rollout: a progress bar, what it waits for, and why."""
    obj, tone = status.object, _TONES[status.phase]
    counts = [
        f"{count}/{status.desired} {name}" if status.desired is not None else f"{count} {name}"
        for name, count in (("updated", status.updated), ("ready", status.ready), ("available", status.available))
        if count is not None
    ]
    blocks: list[Block] = [Note(progress_line(status.progress, tone, " · ".join(counts)))] if counts else []
    blocks.append(Note(line(Span(short(status.message, 400), tone))))
    if status.reasons:
        blocks.append(Bullets(tuple(short(reason, 400) for reason in status.reasons[:_ITEMS])))
    head = line(obj.kind, Span("/".join(filter(None, obj.key)), Tone.STRONG), pill(status.phase))
    return Card(head, (*blocks, *_conditions(status)))


def _conditions(status: RolloutStatus) -> tuple[Note, ...]:
    chips = () if status.complete else condition_chips(status.object, _ITEMS)
    return (Note(tuple(part for chip in chips for part in (chip, Span(" ")))[:-1]),) if chips else ()


@render.register(RolloutHistory)
def history_card(history: RolloutHistory, now: datetime) -> Card:
    """Return the card of a history, newest revision last."""
    obj, shown = history.object, history[-_ROWS:]
    head = line(f"history of {obj.kind}", Span("/".join(filter(None, obj.key)), Tone.STRONG), _count(history))
    columns = ("REVISION", "CHANGE-CAUSE", "IMAGES", "AGE")
    grid = Grid(columns, tuple(_row(each, now) for each in shown), frozenset({0, 3}))
    left = len(history) - len(shown)
    notes = (Note(line(f"{left:,} older ones not shown")),) if left else ()
    return Card(head, (grid, *notes) if shown else ())


@render.register(Revision)
def revision_card(revision: Revision, now: datetime) -> Card:
    """Return the card of a revision."""
    facts = Facts.of(
        [
            ("change cause", short(revision.change_cause, 400)),
            ("images", several(revision.images)),
            ("kept in", f"{revision.object.kind} {'/'.join(filter(None, revision.object.key))}"),
            ("age", age_of(revision.created, now)),
        ]
    )
    return Card(line(f"revision {revision.number}", "current" if revision.current else ""), (facts,))


def _row(revision: Revision, now: datetime) -> tuple[Line, ...]:
    current = Span(" current", Tone.GOOD) if revision.current else Span("")
    return (
        line(Span(str(revision.number), Tone.STRONG), current),
        line(short(revision.change_cause, 200) or muted("<none>")),
        line(several(revision.images, 4)),
        line(muted(age_of(revision.created, now))),
    )


def _count(history: RolloutHistory) -> str:
    return counted(len(history), "revision")


@render.register(DrainReport)
def drain_card(report: DrainReport, now: datetime) -> Card:
    """Return the card of a drained node: a progress bar, and its pods, those that are not gone first."""
    bad = report.among(PodOutcome.REFUSED, PodOutcome.FAILED)
    tone = Tone.BAD if bad else Tone.GOOD if report.ok else Tone.INFO
    pods = sorted(report.pods, key=lambda pod: pod.outcome in _AT_THE_END)
    rows = tuple(
        (
            line(pill(pod.outcome)),
            line(short(pod.object.namespace, 80)),
            line(Span(short(pod.object.name, 200), Tone.STRONG)),
            line(short(pod.reason, 200)),
        )
        for pod in pods[:_ROWS]
    )
    blocks: list[Block] = [Note(progress_line(report.progress, tone, report.summary))]
    blocks += [Grid(("OUTCOME", "NAMESPACE", "POD", "REASON"), rows)] if rows else []
    if len(pods) > _ROWS:
        blocks.append(Note(line(f"{_ROWS} of {len(pods):,} shown")))
    return Card(line("drain of node", Span(short(report.node, 260), Tone.STRONG)), tuple(blocks))
