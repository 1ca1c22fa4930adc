"""How many objects show themselves at once: the first and the last rows, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest, nsmallest
from typing import Any, Final

from dynkube._display.bounds import MOST_COLUMNS
from dynkube._display.cards import Block, Card, Grid, Line, Note, Span, line, muted
from dynkube._display.health import object_age, object_health
from dynkube._display.values import inline
from dynkube._display.words import counted, several

FIRST: Final = 5
LAST: Final = 5
"""Rows that are shown of a long list."""
_ASKED: Final = 5000
_NAMED: Final = 10


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
    first: int = FIRST,
    last: int = LAST,
    count: int | None = None,
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
        count: how many there are, if these are the first and the last alone.
    """
    wanted = [column for column in columns if wide or not column.wide]
    shown = wanted[:MOST_COLUMNS]
    hidden = [column.name for column in columns if column.wide and not wide] if items else []
    count = len(items) if count is None else count
    cut = count > first + last + 1  # nobody gains by a line that says "1 more" in the place of that one
    chosen = [*items[:first], *items[len(items) - last :]] if cut else list(items)
    gap = (first, f"… {count - len(chosen):,} more …") if cut else None
    blocks: list[Block] = []
    if chosen:
        rows = tuple(tuple(_cell(column.cell(item)) for column in shown) for item in chosen)
        right = frozenset(place for place, column in enumerate(shown) if column.right)
        blocks.append(Grid(tuple(column.name for column in shown), rows, right, gap))
    notes = [
        f"{len(chosen)} of {count:,} shown" if len(chosen) < count else "",
        _elsewhere(remaining, more),
        f"{len(shown)} of {len(wanted):,} columns shown" if len(shown) < len(wanted) and items else "",
        _hidden(hidden),
    ]
    if any(notes):
        blocks.append(Note(line(" · ".join(filter(None, notes)))))
    return Card(head, tuple(blocks))


def object_columns(objects: Sequence[Any], now: datetime) -> list[Column]:
    """The columns for objects of which nothing is known but what they are: those that have something to say.

    Args:
        objects: all of them; their headers alone are read (``namespace``, ``kind``), and the bodies of those shown.
        now: what ages are reckoned up to.
    """
    return [
        *([Column("NAMESPACE", lambda obj: inline(obj.namespace, 80))] if common(objects, "namespace") is None else []),
        *([Column("KIND", lambda obj: inline(obj.kind, 80))] if common(objects, "kind") is None else []),
        Column("NAME", lambda obj: inline(obj.name, 120)),
        Column("READY", _ready),
        Column("STATUS", _status),
        Column("AGE", lambda obj: muted(object_age(obj, now)), right=True),
    ]


def common(objects: Sequence[Any], name: str) -> str | None:
    """What all objects have as their ``namespace`` or ``kind``; ``""`` for no objects, ``None`` where they differ.

    Of very many, which servers list in order of their namespaces, the first and the last thousands are asked.
    """
    ends = objects if len(objects) <= 2 * _ASKED else (*objects[:_ASKED], *objects[-_ASKED:])
    found: str = getattr(objects[0], name) if objects else ""
    return found if all(getattr(obj, name) == found for obj in ends) else None


def ends(objects: Sequence[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Those that a card shows of objects in no order: the first and the last by ``key``, or all of a few."""
    if len(objects) <= FIRST + LAST + 1:
        return sorted(objects, key=key)
    return [*nsmallest(FIRST, objects, key), *reversed(nlargest(LAST, objects, key))]  # a third of what sorting takes


def _ready(obj: Any) -> Span:
    health = object_health(obj)
    return Span(health.ready, health.tone)


def _status(obj: Any) -> Span:
    health = object_health(obj)
    return Span(health.status or health.reason, health.tone)


def _cell(said: str | Span) -> Line:
    return line(said)


def _elsewhere(remaining: int | None, more: bool) -> str:
    if remaining:
        return f"{remaining:,} more on the server"
    return "more on the server, which does not say how many" if more else ""


def _hidden(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    return f"{counted(len(columns), 'column')} not shown: {several(columns, _NAMED, 40)} (.wide() shows all)"
