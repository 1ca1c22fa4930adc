"""Renderers of error responses: the causes, or the conflicts and the ways to resolve them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dynkube._display.cards import Bullets, Card, Grid, Note, Span, Tone, line, muted
from dynkube._display.registry import render
from dynkube._text.ages import age_of
from dynkube._text.words import short
from dynkube.errors import APIError, ApplyConflict
from dynkube.errors._conflicts import COLUMNS, operation_text, value_text, ways_out

_CAUSES: Final = 50
_CONFLICTS: Final = 100


@render.register(APIError)
def error_card(error: APIError, now: datetime) -> Card:
    """Return the card of an error response: the message and its causes."""
    head = line(Span(f"{error.code} {error._title()}", Tone.BAD), muted(error.request))
    causes = tuple(
        (
            line(Span(short(each.field, 300), Tone.STRONG)),
            line(short(each.reason, 120)),
            line(short(each.message, 400)),
        )
        for each in error.causes[:_CAUSES]
    )
    message = Note(line(Span(short(error.status.message, 1000))))
    return Card(head, (message, Grid(("FIELD", "REASON", "MESSAGE"), causes)) if causes else (message,))


@render.register(ApplyConflict)
def conflict_card(error: ApplyConflict, now: datetime) -> Card:
    """Return the card of a conflict: a table of the fields, and the ways to resolve it."""
    rows = tuple(
        (
            line(Span(short(each.path, 300), Tone.STRONG)),
            line(value_text(each.ours)),
            line(value_text(each.live)),
            line(short(each.manager, 120)),
            line(operation_text(each)),
            line(muted(age_of(each.time, now))),
        )
        for each in error.conflicts[:_CONFLICTS]
    )
    left = len(error.conflicts) - _CONFLICTS
    introduction = f"and {left:,} more; for each of these fields:" if left > 0 else "For each of these fields:"
    columns = (*COLUMNS[:-1], "AGE")
    head = line(Span(error._heading(), Tone.BAD), muted(error.request))
    return Card(head, (Grid(columns, rows), Note(line(introduction)), Bullets(ways_out(error.conflicts))))
