"""Display of informers: state, objects and handlers, as cards and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dynkube._display import (
    Block,
    Card,
    Facts,
    Grid,
    Line,
    Note,
    Section,
    Span,
    Tone,
    ends,
    line,
    list_card,
    muted,
    object_columns,
    pill,
)
from dynkube._text.ages import age_of, duration_text
from dynkube._text.words import counted, several, short

if TYPE_CHECKING:
    from dynkube.informers._states import State
    from dynkube.informers._statistics import InformerStatistics, InformerStatuses
    from dynkube.informers._views.handlers import HandlerStatistics

_ERROR = 300
_HANDLERS = 20
_INFORMERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """The arguments of an informer, for display.

    Attributes:
        resource: the GVR if it is known, else as it was given.
        namespace: ``None`` for all.
        selectors: the label and field selectors.
        filter: the ``repr`` of the filter; ``""`` if there is none.
        indexes: the names of the indexes.
    """

    resource: str
    namespace: str | None
    selectors: tuple[str, ...]
    filter: str
    indexes: tuple[str, ...]


def informer_card(what: Following, numbers: InformerStatistics, objects: Sequence[Any], now: datetime) -> Card:
    """Return the card of an informer.

    Args:
        what: its arguments.
        numbers: its statistics.
        objects: the objects that it shows, in any order.
        now: the current time, for ages.
    """
    where = "all namespaces" if what.namespace is None else what.namespace
    head = line("informer", Span(what.resource, Tone.STRONG), where, pill(numbers.state.phase))
    passing = f"{len(objects):,} of {numbers.objects:,} pass the filter" if what.filter else f"{numbers.objects:,}"
    facts = [
        ("state", _state(numbers.state, now)),
        ("objects", line(passing)),
        ("filter", line(short(what.filter, _ERROR))),
        ("selectors", line(several(list(filter(None, what.selectors)), width=_ERROR))),
        ("indexes", line(several(what.indexes))),
        *_traffic(numbers, now),
    ]
    blocks: list[Block] = [Facts.of(facts)]
    if numbers.state.phase == "ABSENT":
        blocks.append(Note(line("This is not an error: the informer starts when the resource is served.")))
    return Card(head, (*blocks, *_handlers(numbers.handlers), *_objects(objects, now)))


def statistics_card(numbers: InformerStatistics, now: datetime) -> Card:
    """Return the card of an informer's statistics."""
    facts = Facts.of([("state", _state(numbers.state, now)), *_traffic(numbers, now)])
    head = line("informer statistics", pill(numbers.state.phase), counted(numbers.objects, "object"))
    return Card(head, (facts, *_handlers(numbers.handlers)))


def statuses_card(statuses: InformerStatuses, now: datetime) -> Card:
    """Return the card of all informers of a client."""
    columns = ("RESOURCE", "NAMESPACE", "SELECTORS", "PHASE", "REASON", "FOR", "OBJECTS", "LAG", "BACKLOG", "FAILURES")
    rows = tuple(
        (
            line(short(str(each.gvr), 200)),
            line(each.namespace or muted("all")),
            line(several(list(filter(None, (each.label_selector, each.field_selector))))),
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
