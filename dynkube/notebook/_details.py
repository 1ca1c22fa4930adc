"""What a row shows when somebody opens it: the object's own card, as plain data for the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dynkube._display import (
    Block,
    Bullets,
    Card,
    Chips,
    Code,
    Facts,
    Grid,
    Line,
    Note,
    Section,
    Span,
    Tone,
    object_card,
    printable,
    unreadable_card,
)
from dynkube.errors import InvalidObject
from dynkube.meta import Unstructured


def details_of(obj: Unstructured, now: datetime) -> list[Any]:
    """An object's card as nested lists: what ``_repr_html_`` shows of it, Secrets' values left out as there."""
    try:
        card = object_card(obj, now=now, size=len(obj.json))
    except InvalidObject as exc:
        card = unreadable_card((), str(exc))
    return [_block(block) for block in card.blocks]


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Facts(rows):
            return {"facts": [[printable(name), _line(said)] for name, said in rows]}
        case Chips(spans):
            return {"chips": _line(spans)}
        case Code(lines):
            return {"code": [_line(line) for line in lines]}
        case Note(spans):
            return {"note": _line(spans)}
        case Bullets(items):
            return {"note": [printable(", ".join(items))]}
        case Section(title, blocks, hint, is_open):
            inner = [_block(each) for each in blocks]
            return {"section": printable(title), "hint": printable(hint), "open": is_open, "blocks": inner}
        case Grid(columns, rows):
            cells = [[_line(cell) for cell in row] for row in rows]
            return {"facts": [[" ".join(columns), [cell]] for row in cells for cell in row]}
        case Card(_, blocks):
            return {"section": "", "hint": "", "open": True, "blocks": [_block(each) for each in blocks]}


def _line(line: Line) -> list[Any]:
    return [_span(span) for span in line]


def _span(span: Span) -> str | dict[str, Any]:
    text = printable(span.text, keep="\t")
    if span.tone is Tone.PLAIN and not span.title and not span.chip:
        return text
    return {"t": text, "c": str(span.tone), "h": printable(span.title, keep="\n"), "chip": span.chip}
