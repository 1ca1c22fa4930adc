"""Renders the snapshot of a live log as a card: for a page, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dynkube._display.bounds import newest
from dynkube._display.cards import Block, Card, Code, Line, Note, Span, Tone, hue, line, muted
from dynkube._display.html import page
from dynkube._display.pills import pill
from dynkube._display.pods import log_line
from dynkube._display.text import plain_of
from dynkube._text.words import counted
from dynkube.notebook._log_tail import LogPicture
from dynkube.notebook._outputs import Bundle
from dynkube.pods import LogLine

_PAGE_LINES: Final = 300  # rendering more of them would block the event loop for more than 20 ms
_TEXT_LINES: Final = 20


def bundle_of(picture: LogPicture) -> Bundle:
    """Render a snapshot for a notebook: as many of the newest lines as a page has room for, and the last as text."""
    lines = _lines(picture, _PAGE_LINES)
    few = _card(picture, lines[-_TEXT_LINES:])
    return {"text/html": page(_card(picture, newest(lines)), few), "text/plain": plain_of(few)}


def text_of(picture: LogPicture) -> str:
    """Render a snapshot as text, with all lines that are kept."""
    return plain_of(_card(picture, _lines(picture, len(picture.lines))))


def _lines(picture: LogPicture, most: int) -> Sequence[Line]:
    shown = picture.lines[-most:]
    if not picture.named:
        return tuple(map(log_line, shown))
    namespaces = len({each.namespace for each in shown}) > 1
    return tuple(log_line(each, _names(each, namespaced=namespaces)) for each in shown)


def _names(written: LogLine, *, namespaced: bool) -> Span:
    pod = f"{written.namespace}/{written.pod}" if namespaced else written.pod
    return Span(f"{pod} {written.container} ", hue(written.pod))


def _card(picture: LogPicture, lines: Sequence[Line]) -> Card:
    state = picture.state
    head = line(
        Span(state.title, Tone.STRONG),
        pill(state.word, state.reason),
        "" if state.ended else muted(state.reason),
        counted(picture.count, "line"),
    )
    return Card(head, tuple(_blocks(picture, lines)))


def _blocks(picture: LogPicture, lines: Sequence[Line]) -> Iterator[Block]:
    state = picture.state
    if earlier := picture.count - len(lines):
        kept = len(picture.lines) - len(lines)
        more = f"; .text has {kept:,} of them" if kept else ""
        yield Note(line(muted(f"… {counted(earlier, 'earlier line is', 'earlier lines are')} not shown{more}")))
    if lines:
        yield Code(tuple(lines), tail=True)
    for note in state.notes:
        yield Note(line(Span(note, Tone.WARN)))
    if state.ended:
        yield Note(line(Span(f"— {state.word}: {state.reason}", Tone.BAD if state.word == "failed" else Tone.PLAIN)))
