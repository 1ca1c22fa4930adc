"""Renderers of what was read from pods."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dynkube._display.cards import Block, Card, Code, Line, Note, Span, Tone, line, muted
from dynkube._display.registry import render
from dynkube._text.colours import SGR
from dynkube._text.words import counted, short, size_text
from dynkube.pods import Log, LogLine
from dynkube.pods._logs.lines import rfc3339

_LINES: Final = 200
_WIDTH: Final = 500


def log_line(written: LogLine, *names: Span) -> Line:
    """Return a line of a log: its timestamp if it has one, and its text without the colours for terminals.

    Args:
        written: the line.
        names: what is shown before it.
    """
    stamp = "" if written.timestamp_ns is None else f"{rfc3339(written.timestamp_ns)} "
    text = SGR.sub("", written.text).rstrip("\r")
    return line(*names, muted(stamp), short(text, _WIDTH))


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
        blocks.append(Code(tuple(map(log_line, shown))))
    if log.truncated:
        blocks.append(Note(line(Span(log.truncated, Tone.WARN))))
    return Card(head, tuple(blocks))
