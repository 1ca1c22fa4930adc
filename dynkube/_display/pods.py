"""Renderers of what was read from pods."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dynkube._display.cards import Block, Card, Code, Note, Span, Tone, line, muted
from dynkube._display.registry import render
from dynkube._text.words import counted, short, size_text
from dynkube.pods import Log
from dynkube.pods._logs.lines import rfc3339

_LINES: Final = 200
_WIDTH: Final = 500


@render.register(Log)
def log_card(log: Log, now: datetime) -> Card:
    """Return the card of a log: its last lines."""
    head = line(
        "log",
        Span(f"{log.namespace}/{log.pod}", Tone.STRONG),
        log.container,
        counted(len(log), "line"),
        size_text(log.size) if log.lines else "",
    )
    shown = log.lines[-_LINES:]
    blocks: list[Block] = []
    if len(shown) < len(log):
        blocks.append(Note(line(muted(f"… {counted(len(log) - len(shown), 'line')} before; print() shows all"))))
    if shown:
        blocks.append(
            Code(
                tuple(
                    line(
                        muted(f"{rfc3339(each.timestamp_ns)} " if each.timestamp_ns is not None else ""),
                        short(each.text, _WIDTH),
                    )
                    for each in shown
                )
            )
        )
    if log.truncated:
        blocks.append(Note(line(Span(log.truncated, Tone.WARN))))
    return Card(head, tuple(blocks))
