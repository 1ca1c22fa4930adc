"""The details of an unfolded row: the object's card, as JSON for the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dynkube._display.bounds import bounded
from dynkube._display.cards import Block, Chips, Code, Facts, Line, Note, Section, Span, Tone
from dynkube._display.objects import object_card, unreadable_card
from dynkube._text.tables import printable
from dynkube.errors import InvalidObject
from dynkube.meta import Unstructured


def details_of(obj: Unstructured, now: datetime) -> list[Any]:
    """Return an object's card as nested lists: the same content as its ``_repr_html_``, without values of Secrets."""
    try:
        card = object_card(obj, now=now, size=len(obj.json))
    except InvalidObject as exc:
        card = unreadable_card((), str(exc))
    return [_block(block) for block in bounded(card).blocks]


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Facts(rows):
            return {"facts": [[printable(name), _line(value)] for name, value in rows]}
        case Chips(spans):
            return {"chips": _line(spans)}
        case Code(lines):
            return {"code": [_line(line) for line in lines]}
        case Note(spans):
            return {"note": _line(spans)}
        case Section(title, blocks, hint, is_open):
            inner = [_block(each) for each in blocks]
            return {"section": printable(title), "hint": printable(hint), "open": is_open, "blocks": inner}
        case _:
            raise AssertionError(f"unexpected block {type(block).__name__}")


def _line(line: Line) -> list[Any]:
    return [_span(span) for span in line]


def _span(span: Span) -> str | dict[str, Any]:
    text = printable(span.text, keep="\t")
    if span.tone is Tone.PLAIN and not span.title and not span.chip:
        return text
    return {"t": text, "c": str(span.tone), "h": printable(span.title, keep="\n"), "chip": span.chip}
