"""Renderers of controllers: what they do, what fails, and what waits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from dynkube._display.cards import Block, Card, Facts, Grid, Line, Note, Span, Tone, line, muted
from dynkube._display.pills import pill
from dynkube._display.registry import render
from dynkube._text.ages import age_of, duration_text
from dynkube._text.words import counted, short
from dynkube.controllers import (
    Controller,
    ControllerPhase,
    ControllerStatus,
    ObjectKey,
    SourceStatus,
    WorkQueueStatistics,
)

_ROWS: Final = 20
_ERROR: Final = 300


@render.register(Controller)
def controller_card(controller: Controller, now: datetime) -> Card:
    """Return the card of a controller: that of its status."""
    return status_card(controller.status(), now)


@render.register(ControllerStatus)
def status_card(status: ControllerStatus, now: datetime) -> Card:
    """Return the card of a controller's status: its queue, its informers, and the keys that fail; by cluster."""
    resource = status.resource if status.resource != status.name else ""
    cluster = f"in {short(status.cluster, 100)}" if status.cluster else ""
    head = line("controller", Span(status.name, Tone.STRONG), resource, cluster, _phase(status.phase))
    if status.clusters:
        return Card(head, tuple(status_card(each, now) for each in status.clusters.values()))
    facts = [
        ("problem", line(Span(short(status.problem, _ERROR), Tone.BAD))),
        ("queue", _queue(status.queue) if status.queue is not None else ()),
        ("calls", _calls(status)),
        ("running", line(_keys(status.running))),
        ("waiting for cache", line(_keys(status.waiting_for_cache))),
        ("blocked the loop", line(counted(status.blocked_loop, "time") if status.blocked_loop else "")),
        (
            "function errors",
            line(f"{status.function_errors:,}" if status.function_errors else "", status.last_function_error[:_ERROR]),
        ),
        *((f"source {short(each.name, 100)}", line(_source(each))) for each in status.sources),
    ]
    blocks: list[Block] = [Facts.of(facts)]
    if status.informers:
        rows = tuple(
            (
                line(short(name, 200)),
                line(pill(state.phase, state.message)),
                line(state.reason),
                line(age_of(state.since, now)),
            )
            for name, state in status.informers[:_ROWS]
        )
        blocks.append(Grid(("INFORMER", "PHASE", "REASON", "FOR"), rows))
    if status.failures:
        rows = tuple(
            (
                line(str(each.key)),
                line(each.outcome),
                line(f"{each.failures:,}"),
                line(Span(short(each.error, _ERROR), Tone.BAD)),
            )
            for each in status.failures[:_ROWS]
        )
        blocks.append(Grid(("FAILING KEY", "OUTCOME", "FAILURES", "LAST ERROR"), rows, frozenset({2})))
        if len(status.failures) > _ROWS:
            blocks.append(Note(line(f"{_ROWS} of {counted(len(status.failures), 'failing key')} shown")))
    return Card(head, tuple(blocks))


def _phase(phase: ControllerPhase) -> Span:
    tone = (
        Tone.GOOD if phase is ControllerPhase.RUNNING else Tone.MUTED if phase is ControllerPhase.STOPPED else Tone.WARN
    )
    return Span(phase, tone, chip=True)


def _queue(numbers: WorkQueueStatistics) -> Line:
    ready = sum(numbers.depth.values())
    waited = f", {_seconds(numbers.queue_seconds / numbers.taken)} in the queue on average" if numbers.taken else ""
    return line(f"{ready:,} ready, {numbers.delayed:,} delayed, {numbers.processing:,} processing", muted(waited))


def _calls(status: ControllerStatus) -> Line:
    calls = sum(status.outcomes.values())
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in status.outcomes.items())
    return line(outcomes, muted(f", {_seconds(status.seconds / calls)} each on average" if calls else ""))


def _source(source: SourceStatus) -> str:
    opened = "open, " if source.open else ""
    failed = f", {counted(source.failures, 'failure')}: {short(source.last_error, _ERROR)}" if source.failures else ""
    return f"{opened}{counted(source.keys, 'key')}{failed}"


def _seconds(seconds: float) -> str:
    """Format the duration of a call or a wait, which is mostly below a second."""
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _keys(keys: Mapping[ObjectKey, float]) -> str:
    shown = [f"{key} for {duration_text(seconds)}" for key, seconds in list(keys.items())[:_ROWS]]
    return ", ".join(shown) + (f", and {len(keys) - _ROWS:,} more" if len(keys) > _ROWS else "")
