"""Renders lists of objects: the first and the last rows, and the count."""

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
from dynkube._text.words import counted, several

FIRST: Final = 5
LAST: Final = 5
"""The numbers of rows shown from the beginning and the end of a long list."""
_ASKED: Final = 5000
_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class ListColumn:
    """One column of a list.

    Attributes:
        name: the heading.
        cell: returns the cell of an item.
        right: whether it is right-aligned (numbers).
        wide: whether it is only shown in wide output, like a printer column with priority > 0.
    """

    name: str
    cell: Callable[[Any], str | Span]
    right: bool = False
    wide: bool = False


def list_card(
    head: Line,
    items: Sequence[Any],
    columns: Sequence[ListColumn],
    *,
    remaining: int | None = None,
    more: bool = False,
    wide: bool = False,
    first: int = FIRST,
    last: int = LAST,
    count: int | None = None,
) -> Card:
    """Return a card of a list.

    Args:
        head: the heading.
        items: the items; only those that are shown are read.
        columns: the columns.
        remaining: the number of further objects on the server (remainingItemCount), if known.
        more: whether there are further objects on the server.
        wide: show all columns.
        first: the number of rows shown from the beginning.
        last: the number of rows shown from the end; those in between are counted.
        count: the number of items, if ``items`` has only the first and the last ones.
    """
    wanted = [column for column in columns if wide or not column.wide]
    shown = wanted[:MOST_COLUMNS]
    hidden = [column.name for column in columns if column.wide and not wide] if items else []
    count = len(items) if count is None else count
    cut = count > first + last + 1  # a gap of one row would save no space
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


def object_columns(objects: Sequence[Any], now: datetime) -> list[ListColumn]:
    """Return generic columns for objects of any kind.

    Namespace and kind only if they differ between the objects.

    Args:
        objects: the objects; of those that are not shown, only ``namespace`` and ``kind`` are read.
        now: the time for ages.
    """
    return [
        *(
            [ListColumn("NAMESPACE", lambda obj: inline(obj.namespace, 80))]
            if common(objects, "namespace") is None
            else []
        ),
        *([ListColumn("KIND", lambda obj: inline(obj.kind, 80))] if common(objects, "kind") is None else []),
        ListColumn("NAME", lambda obj: inline(obj.name, 120)),
        ListColumn("READY", _ready),
        ListColumn("STATUS", _status),
        ListColumn("AGE", lambda obj: muted(object_age(obj, now)), right=True),
    ]


def common(objects: Sequence[Any], name: str) -> str | None:
    """Return the common ``namespace`` or ``kind`` of all objects.

    ``""`` for no objects, ``None`` if they differ. Of more than 10,000 objects only the first and the last 5,000 are
    compared: servers list in order of namespaces.
    """
    ends = objects if len(objects) <= 2 * _ASKED else (*objects[:_ASKED], *objects[-_ASKED:])
    found: str = getattr(objects[0], name) if objects else ""
    return found if all(getattr(obj, name) == found for obj in ends) else None


def ends(objects: Sequence[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return the objects of an unordered collection to show: the first and last by ``key``, or all if they are few."""
    if len(objects) <= FIRST + LAST + 1:
        return sorted(objects, key=key)
    return [*nsmallest(FIRST, objects, key), *reversed(nlargest(LAST, objects, key))]  # a third of the time of sorting


def _ready(obj: Any) -> Span:
    health = object_health(obj)
    return Span(health.ready, health.tone)


def _status(obj: Any) -> Span:
    health = object_health(obj)
    return Span(health.status or health.reason, health.tone)


def _cell(content: str | Span) -> Line:
    return line(content)


def _elsewhere(remaining: int | None, more: bool) -> str:
    if remaining:
        return f"{remaining:,} more on the server"
    return "more on the server, number not reported" if more else ""


def _hidden(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    return f"{counted(len(columns), 'column')} not shown: {several(columns, _NAMED, 40)} (.wide() shows all)"
