"""Renderers of events, descriptions, fields of kinds, and resource usage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Final

from dynkube._display.cards import Block, Card, Facts, Grid, Line, Note, Section, Span, Tone, line, muted
from dynkube._display.informers import owner_tree_card
from dynkube._display.meta import unstructured_card
from dynkube._display.registry import render
from dynkube._display.trees import tree_rows
from dynkube._display.values import inline
from dynkube._text.ages import age_of
from dynkube._text.words import counted, several, short
from dynkube.inspection import Description, Explanation, ObjectEvent, ObjectEvents, SchemaField, Usage, Usages

_ROWS: Final = 100
_FIELDS: Final = 1000
_COLUMNS: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE")
_SHOWN_APART: Final = frozenset({"Name", "Age"})  # they are in the heading of the object


@render.register(ObjectEvents)
def events_card(events: ObjectEvents, now: datetime) -> Card:
    """Return the card of events, the latest last."""
    head = line("events", counted(len(events), "event"), _warnings(events))
    return Card(head, tuple(_events(events, now)))


@render.register(ObjectEvent)
def event_card(event: ObjectEvent, now: datetime) -> Card:
    """Return the card of an event."""
    facts = Facts.of(
        [
            ("object", _object(event)),
            ("message", short(event.message, 1000)),
            ("count", str(event.count)),
            ("first seen", age_of(event.first, now)),
            ("last seen", age_of(event.last, now)),
            ("source", short(event.source, 200)),
        ]
    )
    return Card(line("event", _type(event), Span(short(event.reason, 200), Tone.STRONG)), (facts,))


@render.register(Description)
def description_card(description: Description, now: datetime) -> Card:
    """Return the card of a description: the object, its columns, what it owns, and the events."""
    obj = description.object
    head = line("description", f"{obj.kind}/{obj.name}", obj.namespace)
    return Card(head, tuple(_description(description, now)))


def _description(description: Description, now: datetime) -> Iterator[Block]:
    yield unstructured_card(description.object, now, unfolded=True)  # a terminal cannot unfold anything
    columns = ((name, inline(cell, 200)) for name, cell in description.columns.items() if name not in _SHOWN_APART)
    if (facts := Facts.of([(short(name, 80), text) for name, text in columns])).rows:
        yield Section("columns", (facts,), open=True)
    if (tree := description.owned) is not None and tree.children:
        blocks = owner_tree_card(tree, now).blocks
        yield Section("owns", blocks, counted(tree._below(), "object"), open=True)
    if (events := description.events) is not None:
        hint = " · ".join(filter(None, (counted(len(events), "event"), _warnings(events).text)))
        yield Section("events", tuple(_events(events, now, notes=False)), hint, open=bool(events))
    for note in description.notes:
        yield Note(line(Span(short(note, 400), Tone.WARN)))


def _events(events: ObjectEvents, now: datetime, *, notes: bool = True) -> Iterator[Block]:
    shown = events[-_ROWS:]
    if shown:
        yield Grid(_COLUMNS, tuple(_row(event, now) for event in shown), frozenset({0, 4}))
    if len(events) > len(shown):
        yield Note(line(f"{len(events) - len(shown):,} older ones not shown"))
    for note in events.notes if notes else ():
        yield Note(line(Span(short(note, 400), Tone.WARN)))


def _row(event: ObjectEvent, now: datetime) -> tuple[Line, ...]:
    return (
        line(muted(age_of(event.last, now))),
        line(_type(event)),
        line(Span(short(event.reason, 80), Tone.STRONG)),
        line(_object(event)),
        line(f"{event.count:,}"),
        line(short(inline(event.message, 400), 400)),
    )


def _type(event: ObjectEvent) -> Span:
    return Span(short(event.type, 40), Tone.WARN if event.type == "Warning" else Tone.PLAIN)


def _object(event: ObjectEvent) -> str:
    return short(f"{event.kind.lower()}/{event.name}", 260)


def _warnings(events: ObjectEvents) -> Span:
    return Span(counted(len(events.warnings), "warning") if events.warnings else "", Tone.WARN)


@render.register(Explanation)
def explanation_card(explanation: Explanation, now: datetime) -> Card:
    """Return the card of an explanation: the text, and a table of fields, as a tree if there are fields below."""
    resource, fields = explanation.resource, explanation.fields
    path = ".".join((resource.kind, *explanation.path))
    head = line(
        "fields", Span(short(path, 300), Tone.STRONG), Span(short(explanation.type, 120), Tone.KEY), str(resource)
    )
    blocks: list[Block] = [Note(line(short(explanation.description or "no description", 2000)))]
    if explanation.enum:
        blocks.append(Facts.of([("one of", _values(explanation.enum))]))
    if any(field.fields for field in fields):
        root = SchemaField(path, explanation.type, "", required=False, fields=fields)
        rows = tuple(islice(tree_rows(root, lambda field: field.fields, _tree_cells), _FIELDS))
        blocks.append(Grid(("FIELD", "TYPE", ""), rows, is_tree=True))
        if len(rows) == _FIELDS:
            blocks.append(Note(line(f"the first {_FIELDS:,} fields are shown")))
    elif fields:
        blocks.append(Grid(("FIELD", "TYPE", "", "DESCRIPTION"), tuple(map(_field_row, fields[:_FIELDS]))))
    return Card(head, tuple(blocks))


def _field_row(field: SchemaField) -> tuple[Line, ...]:
    allowed = f" (one of {_values(field.enum)})" if field.enum else ""
    return (*map(line, _tree_cells(field)), line(inline(field.description, 200) + allowed))


def _tree_cells(field: SchemaField) -> tuple[Span, ...]:
    name, kind = short(field.name, 200), short(field.type, 120)
    return Span(name, Tone.STRONG), Span(kind, Tone.KEY), Span("required" if field.required else "", Tone.WARN)


def _values(enum: tuple[object, ...]) -> str:
    return several([inline(value) or '""' for value in enum])


@render.register(Usages)
def usages_card(usages: Usages, now: datetime) -> Card:
    """Return the card of what pods or nodes use."""
    columns = _usage_columns(usages.kind)
    shown = usages[:_FIELDS]
    rows = tuple(tuple(line(cell) for name, cell in _usage_cells(usage) if name in columns) for usage in shown)
    right = frozenset(place for place, name in enumerate(columns) if "(" in name)
    blocks: list[Block] = [Grid(columns, rows, right)] if rows else []
    if len(usages) > len(shown):
        blocks.append(Note(line(f"{len(shown):,} of {len(usages):,} shown")))
    return Card(line("usage", f"{len(usages):,} {usages.kind}"), tuple(blocks))


@render.register(Usage)
def usage_card(usage: Usage, now: datetime) -> Card:
    """Return the card of what one pod, container or node uses."""
    return Card(line("usage"), (Facts.of([(name, cell) for name, cell in _usage_cells(usage)]),))


def _usage_columns(kind: str) -> tuple[str, ...]:
    if kind == "nodes":
        return ("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)")
    container = ("CONTAINER",) if kind == "containers" else ()
    return ("NAMESPACE", "NAME", *container, "CPU(cores)", "MEMORY(bytes)")


def _usage_cells(usage: Usage) -> Iterator[tuple[str, Span]]:
    """Yield the cells of a usage, in the units of ``kubectl top``."""
    yield "NAMESPACE", Span(short(usage.namespace, 80))
    yield "NAME", Span(short(usage.name, 260), Tone.STRONG)
    yield "CONTAINER", Span(short(usage.container, 80))
    yield "CPU(cores)", _measured(usage.cpu, "m")
    yield "CPU(%)", _measured(usage.cpu_percent, "%")
    yield "MEMORY(bytes)", _measured(None if usage.memory is None else usage.memory >> 20, "Mi")
    yield "MEMORY(%)", _measured(usage.memory_percent, "%")


def _measured(number: int | None, unit: str) -> Span:
    return muted("<unknown>") if number is None else Span(f"{number}{unit}")
