"""Renderers of objects, lists, tables, and names of types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

from dynkube._display.cards import Card, Note, Span, Tone, line, muted
from dynkube._display.health import object_health
from dynkube._display.lists import ListColumn, common, list_card, object_columns
from dynkube._display.objects import object_card, unreadable_card
from dynkube._display.registry import render
from dynkube._display.values import inline
from dynkube._text.words import counted, short
from dynkube.errors import InvalidObject
from dynkube.meta import GVK, GVR, Unstructured, UnstructuredList, UnstructuredTable

_HEADING: Final = 200  # characters shown of a column's name
_HEALTH: Final = frozenset({"ready", "status", "phase"})


@render.register(GVK)
def gvk_card(gvk: GVK, now: datetime) -> Card:
    """Return the card of a GVK."""
    return Card(line("kind", Span(gvk.kind, Tone.STRONG), gvk.group or muted("core group"), gvk.version))


@render.register(GVR)
def gvr_card(gvr: GVR, now: datetime) -> Card:
    """Return the card of a GVR."""
    where = (Span(gvr.resource, Tone.STRONG), gvr.group or muted("core group"), gvr.version)
    return Card(line("resource", *where, muted(str(gvr))))


@render.register(Unstructured)
def unstructured_card(obj: Unstructured, now: datetime, *, unfolded: bool = False) -> Card:
    """Return the card of an object; if its body is unreadable, the reason."""
    try:
        return object_card(obj, now=now, size=len(obj.json), unfolded=unfolded)
    except InvalidObject as exc:
        return unreadable_card(line(obj.api_version, obj.kind, "/".join(filter(None, obj.key))), str(exc))


@render.register(UnstructuredList)
def unstructured_list_card(objects: UnstructuredList, now: datetime) -> Card:
    """Return the card of a list, with generic columns."""
    return list_card(
        line(*_head(objects)),
        objects,
        object_columns(objects, now),
        remaining=objects.remaining_item_count,
        more=bool(objects.continue_token),
    )


@render.register(UnstructuredTable)
def unstructured_table_card(table: UnstructuredTable, now: datetime) -> Card:
    """Return the card of a table, with the columns of the server."""
    if table._tables:  # of several resources
        return _card_of_several(table, now)
    card = list_card(
        line(*_head(table)),
        range(len(table)),
        list(_columns(table)),
        remaining=table.remaining_item_count,
        more=bool(table.continue_token),
        wide=table._wide,
    )
    if table.server_columns:
        return card
    return Card(card.head, (*card.blocks, Note(line("The server defines no columns for these objects."))))


def _card_of_several(table: UnstructuredTable, now: datetime) -> Card:
    errors = (Note(line(Span(short(f"{name}: {error}", 1000), Tone.BAD))) for name, error in table.errors.items())
    cards = (unstructured_table_card(part, now) for part in table.tables if len(part))
    return Card(line(counted(len(table), "object"), counted(len(table.tables), "resource")), (*cards, *errors))


def _head(objects: UnstructuredList) -> Iterator[str | Span]:
    """Yield the type, the count, the objects' common namespace, if any, and the resourceVersion."""
    yield f"{objects.api_version} {objects.kind or 'List'}".strip()
    yield counted(len(objects), "object")
    if namespace := common(objects, "namespace"):
        yield namespace
    if objects.resource_version:
        yield muted(f"resourceVersion {objects.resource_version}")


def _columns(table: UnstructuredTable) -> Iterator[ListColumn]:
    if common(table, "namespace") is None:
        yield ListColumn("NAMESPACE", lambda row: inline(table[row].namespace, 80))
    for place, column in enumerate(table.columns):
        right = column.type in {"integer", "number"} or column.shows_age
        yield ListColumn(column.name[:_HEADING].upper(), partial(_cell, table, place), right=right, wide=column.wide)


def _cell(table: UnstructuredTable, place: int, row: int) -> Span:
    text = inline(table.cells[row][place], 120)
    is_health = table.columns[place].name.lower() in _HEALTH
    return Span(text, object_health(table[row]).tone) if is_health else Span(text)
