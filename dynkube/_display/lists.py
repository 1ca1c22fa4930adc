"""How many objects show themselves at once: the first and the last rows, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dynkube._display.cards import Block, Card, Grid, Line, Note, Span, line, muted
from dynkube._display.health import object_age, object_health
from dynkube._display.values import inline
from dynkube._display.words import counted


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a list.

    Attributes:
        name: its heading.
        cell: what an item has there.
        right: whether it is a number.
        wide: whether it is left out unless asked for, as a printer column with a priority is.
    """

    name: str
    cell: Callable[[Any], str | Span]
    right: bool = False
    wide: bool = False


def list_card(
    head: Line,
    items: Sequence[Any],
    columns: Sequence[Column],
    *,
    remaining: int | None = None,
    more: bool = False,
    wide: bool = False,
    first: int = 5,
    last: int = 5,
) -> Card:
    """A list as a card.

    Args:
        head: what it is.
        items: what is in it; of these, only what is shown is looked at.
        columns: what to show of each.
        remaining: how many the server has that are not in it, if it says so.
        more: whether there are any of those.
        wide: show all columns.
        first: how many rows are shown from the beginning.
        last: how many from the end; what is between is counted.
    """
    shown = [column for column in columns if wide or not column.wide]
    hidden = [column.name for column in columns if column.wide and not wide] if items else []
    count = len(items)
    cut = count > first + last + 1  # nobody gains by a line that says "1 more" in the place of that one
    chosen = [*items[:first], *items[count - last :]] if cut else list(items)
    gap = (first, f"… {count - len(chosen):,} more …") if cut else None
    blocks: list[Block] = []
    if chosen:
        rows = tuple(tuple(_cell(column.cell(item)) for column in shown) for item in chosen)
        right = frozenset(place for place, column in enumerate(shown) if column.right)
        blocks.append(Grid(tuple(column.name for column in shown), rows, right, gap))
    if note := _note(len(chosen), count, remaining, more, hidden):
        blocks.append(Note(line(note)))
    return Card(head, tuple(blocks))


def object_columns(objects: Sequence[Any], now: datetime) -> list[Column]:
    """The columns for objects of which nothing is known but what they are: those that have something to say.

    Args:
        objects: all of them; their headers alone are read (``namespace``, ``kind``), and the bodies of those shown.
        now: what ages are reckoned up to.
    """
    several = len({obj.namespace for obj in objects}) > 1
    kinds = len({obj.kind for obj in objects}) > 1
    return [
        *([Column("NAMESPACE", lambda obj: inline(obj.namespace, 80))] if several else []),
        *([Column("KIND", lambda obj: inline(obj.kind, 80))] if kinds else []),
        Column("NAME", lambda obj: inline(obj.name, 120)),
        Column("READY", _ready),
        Column("STATUS", _status),
        Column("AGE", lambda obj: muted(object_age(obj, now)), right=True),
    ]


def _ready(obj: Any) -> Span:
    health = object_health(obj)
    return Span(health.ready, health.tone)


def _status(obj: Any) -> Span:
    health = object_health(obj)
    return Span(health.status or health.reason, health.tone)


def _cell(said: str | Span) -> Line:
    return line(said)


def _note(shown: int, count: int, remaining: int | None, more: bool, hidden: Sequence[str]) -> str:
    parts = []
    if shown < count:
        parts.append(f"{shown} of {count:,} shown")
    if remaining:
        parts.append(f"{remaining:,} more on the server")
    elif more:
        parts.append("more on the server, which does not say how many")
    if hidden:
        names = ", ".join(inline(name, 40) for name in hidden)
        parts.append(f"{counted(len(hidden), 'column')} not shown: {names} (.wide() shows all)")
    return " · ".join(parts)
