"""Renderers of informers, with state, objects and handlers; of their statistics, and of filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from dynkube._display.cards import Block, Card, Facts, Grid, Line, Note, Section, Span, Tone, line, muted
from dynkube._display.health import object_age, object_health
from dynkube._display.lists import ends, list_card, object_columns
from dynkube._display.pills import pill
from dynkube._display.registry import render
from dynkube._display.trees import tree_rows
from dynkube._display.values import inline
from dynkube._guard import repr_of
from dynkube._text.ages import age_of, duration_text
from dynkube._text.words import counted, several, short
from dynkube.informers import (
    Filter,
    HandlerStatistics,
    Informer,
    InformerStatistics,
    InformerStatuses,
    OwnerTree,
    State,
)
from dynkube.informers._namespace_set import namespaces_text
from dynkube.meta import Unstructured
from dynkube.meta._selectors.hash_shard import shard_text

_ERROR: Final = 300
_FILTER: Final = 1000
_HANDLERS: Final = 20
_INFORMERS: Final = 100
_TREE: Final = 200


@render.register(Informer)
def informer_card(informer: Informer, now: datetime) -> Card:
    """Return the card of an informer: its arguments, its statistics, and the objects that it shows."""
    numbers, objects = informer.statistics(), informer.list()
    where = "all namespaces" if informer.namespace is None else informer.namespace
    if informer._namespaces is not None:
        where = namespaces_text(informer._namespaces)
    resource = str(informer.gvr or informer._resource)
    head = line("informer", Span(resource, Tone.STRONG), where, pill(numbers.state.phase))
    shown_filter = "" if informer.filter is None else repr_of(informer.filter)
    passing = f"{len(objects):,} of {numbers.objects:,} pass the filter" if shown_filter else f"{numbers.objects:,}"
    selectors = (
        str(informer._label_selector),
        str(informer._field_selector),
        shard_text(informer._shard),
        "metadata only" if informer._metadata_only else "",
    )
    facts = [
        ("state", _state(numbers.state, now)),
        ("objects", line(passing)),
        ("filter", line(short(shown_filter, _ERROR))),
        ("selectors", line(several(list(filter(None, selectors)), width=_ERROR))),
        ("indexes", line(several(tuple(informer._view.indexes)))),
        *_traffic(numbers, now),
    ]
    blocks: list[Block] = [Facts.of(facts)]
    if numbers.state.phase == "ABSENT" and numbers.state.reason != "Forbidden":
        blocks.append(Note(line("This is not an error: the informer starts when the resource is served.")))
    return Card(head, (*blocks, *_handlers(numbers.handlers), *_objects(objects, now)))


@render.register(State)
def state_card(state: State, now: datetime) -> Card:
    """Return the card of a state: one line."""
    since = age_of(state.since, now)
    return Card(line(pill(state.phase), state.reason, state.message, muted(f"for {since}" if since else "")))


@render.register(Filter)
def filter_card(displayed: Filter, now: datetime) -> Card:
    """Return the card of a filter: its ``repr``."""
    return Card(line("filter", Span(short(repr_of(displayed), _FILTER), Tone.STRONG)))


@render.register(InformerStatistics)
def statistics_card(numbers: InformerStatistics, now: datetime) -> Card:
    """Return the card of an informer's statistics."""
    facts = Facts.of([("state", _state(numbers.state, now)), *_traffic(numbers, now)])
    head = line("informer statistics", pill(numbers.state.phase), counted(numbers.objects, "object"))
    return Card(head, (facts, *_handlers(numbers.handlers)))


@render.register(InformerStatuses)
def statuses_card(statuses: InformerStatuses, now: datetime) -> Card:
    """Return the card of all informers of a client."""
    columns = ("RESOURCE", "NAMESPACE", "SELECTORS", "PHASE", "REASON", "FOR", "OBJECTS", "LAG", "BACKLOG", "FAILURES")
    rows = tuple(
        (
            line(short(str(each.gvr), 200)),
            line(each.namespace or short(each.namespaces, 80) or muted("all")),
            line(several(each._restrictions)),
            line(pill(each.state.phase, each.state.message)),
            line(short(each.state.reason, 80)),
            line(age_of(each.state.since, now)),
            line(f"{each.objects:,}"),
            line("" if each.lag is None else duration_text(each.lag)),
            line(f"{each.backlog:,}"),
            line(Span(f"{each.failures:,}", Tone.BAD if each.failures else Tone.MUTED, each.last_error)),
        )
        for each in statuses[:_INFORMERS]
    )
    failing = [each for each in statuses if each.last_error]
    notes = [
        Note(line(Span(f"{short(str(each.gvr), 200)}: {_on_one_line(each.last_error)}", Tone.BAD)))
        for each in failing[:_HANDLERS]
    ]
    if len(failing) > _HANDLERS:
        notes.append(Note(line(Span(f"and {len(failing) - _HANDLERS:,} more with an error", Tone.BAD))))
    if len(statuses) > _INFORMERS:
        notes.insert(0, Note(line(f"{_INFORMERS} of {len(statuses):,} shown: print() it for all")))
    head = line(counted(len(statuses), "informer"))
    return Card(head, (Grid(columns, rows, frozenset(range(6, 10))), *notes) if rows else ())


@render.register(OwnerTree)
def owner_tree_card(tree: OwnerTree, now: datetime) -> Card:
    """Return the card of an owner tree: a table, with the health of each object."""
    several_namespaces = len({obj.namespace for _, obj in tree.walk()}) > 1
    rows = tree_rows(
        tree, lambda each: each.children, partial(_tree_cells, now=now, several_namespaces=several_namespaces)
    )
    shown = tuple(islice(rows, _TREE))
    notes = [Note(line(note)) for note in tree.notes]
    if (total := sum(1 for _ in tree.walk())) > len(shown):
        notes.append(Note(line(f"{len(shown)} of {total:,} lines shown")))
    columns = ("OBJECT", *(("NAMESPACE",) if several_namespaces else ()), "READY", "REASON", "STATUS", "AGE")
    root = tree.object
    head = line("owner tree", Span(_name(root), Tone.STRONG), root.namespace, f"{tree._below():,} below")
    return Card(head, (Grid(columns, shown, is_tree=True), *notes))


def _tree_cells(tree: OwnerTree, now: datetime, several_namespaces: bool) -> tuple[Span, ...]:
    health = object_health(tree.object)
    return (
        Span(inline(_name(tree.object), 200)),
        *((Span(tree.object.namespace),) if several_namespaces else ()),
        Span(health.ready, health.tone),
        Span(health.reason),
        Span(health.status, health.tone),
        muted(object_age(tree.object, now)),
    )


def _name(obj: Unstructured) -> str:
    return f"{obj.kind}/{obj.name}"


def _state(state: State, now: datetime) -> Line:
    since = age_of(state.since, now)
    parts = [short(state.reason, _ERROR), short(state.message, _ERROR), f"for {since}" if since else ""]
    return line(" · ".join(filter(None, parts)))


def _traffic(numbers: InformerStatistics, now: datetime) -> Iterator[tuple[str, Line]]:
    """Yield facts on requests and events; none before the first request."""
    if numbers.last_event is not None:
        yield "last change", line(f"{age_of(numbers.last_event, now)} ago")
    if numbers.lag is not None:
        heard = duration_text(timedelta(seconds=numbers.lag).total_seconds())
        yield "last heard", line(f"{heard} ago", muted(f" at resourceVersion {numbers.resource_version}"))
    if numbers.listed:
        yield "listing", line(f"{counted(numbers.listed, 'object')} received")
    if numbers.lists or numbers.watches:
        restarts = f" ({counted(numbers.restarts, 'restart')})" if numbers.restarts else ""
        requests = f"{counted(numbers.lists, 'list')}, {counted(numbers.watches, 'watch', 'watches')}{restarts}"
        yield "requests", line(f"{requests}, {counted(numbers.events, 'event')}")
    if numbers.users > 1:
        yield "shared by", line(counted(numbers.users, "informer"))
    if numbers.failures:
        reasons = several([f"{count} {short(reason, 120)}" for reason, count in numbers.reasons.items()])
        yield "failures", line(Span(f"{numbers.failures:,} ({reasons})" if reasons else str(numbers.failures)))
    if numbers.last_error:
        yield "last error", line(Span(_on_one_line(numbers.last_error), Tone.BAD))


def _on_one_line(error: str) -> str:
    return short(" ".join(error[:1000].split()), _ERROR) if len(error) <= 1000 else short(error, _ERROR)


def _handlers(handlers: Sequence[HandlerStatistics]) -> Iterator[Block]:
    columns = ("HANDLER", "BACKLOG", "HANDLED", "SKIPPED", "ERRORS", "LAST ERROR")
    rows = tuple(
        (
            line(short(each.name, 80)),
            line(Span(f"{each.backlog:,}", Tone.WARN if each.backlog else Tone.MUTED)),
            line(f"{each.handled:,}"),
            line(f"{each.coalesced:,}"),
            line(Span(f"{each.errors:,}", Tone.BAD if each.errors else Tone.MUTED)),
            line(Span(short(each.last_error, 120), Tone.BAD)),
        )
        for each in handlers[:_HANDLERS]
    )
    if rows:
        yield Grid(columns, rows, frozenset(range(1, 5)))
    if len(handlers) > _HANDLERS:
        yield Note(line(f"and {counted(len(handlers) - _HANDLERS, 'more handler')}"))


def _objects(objects: Sequence[Any], now: datetime) -> Iterator[Block]:
    if objects:
        shown = ends(objects, attrgetter("key"))
        card = list_card((), shown, object_columns(shown, now), count=len(objects))
        yield Section("objects", card.blocks, f"{len(objects):,}")
