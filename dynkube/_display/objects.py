"""Renders an object of any kind: identity, health, and foldable sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from dynkube._display.cards import Block, Card, Chips, Facts, Line, Note, Section, Span, Tone, line, muted
from dynkube._display.definitions import definition_facts
from dynkube._display.health import condition_chips, health_of, mapping
from dynkube._display.values import DEFAULT, ValueLimits, inline, yaml_code
from dynkube._display.visible import visible
from dynkube._text.ages import age_of
from dynkube._text.words import Aside, counted, short, size_text

_HEADING: Final = frozenset({"apiVersion", "kind", "metadata"})
# Metadata that the heading and the lines below it contain already.
_SHOWN_APART: Final = frozenset({"name", "namespace", "labels", "annotations", "managedFields", "ownerReferences"})


def object_card(
    obj: Mapping[str, Any], *, now: datetime, size: int = 0, limits: ValueLimits = DEFAULT, unfolded: bool = False
) -> Card:
    """Return a card of an object.

    Fields of an unexpected type are shown as they are, or left out of the summary. Values of Secrets, ``managedFields``
    and the annotation ``kubectl.kubernetes.io/last-applied-configuration`` are not shown.

    Args:
        obj: the object.
        now: the time for ages.
        size: the size of its JSON in bytes; shown if above 100 kB.
        limits: how much to show.
        unfolded: whether sections are open, except other metadata.
    """
    head = _head(obj, now)
    if size > 100_000:
        head = (*head, muted(size_text(size)))
    return Card(head, tuple(_blocks(obj, limits, unfolded=unfolded)))


def unreadable_card(head: Line, problem: str) -> Card:
    """Return a card of an object whose body is unreadable."""
    return Card(head, (Note(line(Span(short(problem, 400), Tone.BAD))),))


def _head(obj: Mapping[str, Any], now: datetime) -> Line:
    metadata, health = mapping(obj, "metadata"), health_of(obj)
    kind = " ".join(filter(None, (inline(obj.get("apiVersion"), 80), inline(obj.get("kind"), 80)))) or "object"
    place = "/".join(filter(None, (inline(metadata.get(name), 260) for name in ("namespace", "name"))))
    if not place and metadata.get("generateName"):
        place = f"{inline(metadata.get('generateName'), 260)}…"
    age = age_of(metadata.get("creationTimestamp"), now)
    return line(
        kind,
        Span(place or "(unnamed)", Tone.STRONG),
        Span(f"Ready {health.ready}" if health.ready else "", health.tone),
        Span(health.status, health.tone),
        muted(f"age {age}" if age else ""),
    )


def _blocks(obj: Mapping[str, Any], limits: ValueLimits, *, unfolded: bool) -> Iterator[Block]:
    metadata = mapping(obj, "metadata")
    fields = _fields(obj, limits)
    facts = Facts.of(
        [
            ("labels", _pairs(mapping(metadata, "labels"), limits.items)),
            ("owned by", _owners(metadata.get("ownerReferences"))),
            ("finalizers", _finalizers(metadata)),
            *definition_facts(obj),
            *((short(name, 80), inline(value, 400)) for name, value in fields.items() if not _is_inner(value)),
        ]
    )
    if facts.rows:
        yield facts
    if chips := condition_chips(obj, limits.items):
        yield Chips(chips)
    left = limits.total
    for name, value in fields.items():
        if _is_inner(value) and value:
            code = yaml_code(value, limits.at_most(left // 4))
            left -= len(code.lines)
            yield Section(short(name, 80), (code,), _inside(obj[name], len(obj[name])), open=unfolded)
    if more := len(obj) - sum(name in obj for name in _HEADING) - len(fields):
        yield Note(line(f"and {counted(more, 'more field')}"))
    yield from _metadata(metadata, limits, unfolded=unfolded)


def _fields(obj: Mapping[str, Any], limits: ValueLimits) -> dict[str, Any]:
    """Return the fields to show: the first ones, without apiVersion, kind and metadata, and with the status last."""
    found = ((name, value) for name, value in visible(obj, limits.lines) if name not in _HEADING)
    fields = dict(islice(found, limits.items))
    if "status" in obj:  # after the desired state
        fields["status"] = fields.pop("status", obj["status"])
    return fields


def _is_inner(value: object) -> bool:
    """Return whether it is a map or list."""
    return isinstance(value, Mapping | list | tuple)


def _metadata(metadata: Mapping[str, Any], limits: ValueLimits, *, unfolded: bool) -> Iterator[Block]:
    annotations = mapping(metadata, "annotations")
    if annotations:
        code, hint = yaml_code(annotations, limits), counted(len(annotations), "annotation")
        yield Section("annotations", (code,), hint, open=unfolded)
    others = ((name, value) for name, value in metadata.items() if name not in _SHOWN_APART)
    shown: dict[str, Any] = dict(islice(others, limits.lines + 1))  # as many as fit
    count = len(metadata) - sum(name in metadata for name in _SHOWN_APART)
    managers = metadata.get("managedFields")
    if isinstance(managers, list | tuple) and managers:
        summary = f"({counted(len(managers), 'entry', 'entries')}, not shown: see dynkube.owners)"
        shown["managedFields"] = Aside(summary)
        count += 1
    if shown:
        yield Section("metadata", (yaml_code(shown, limits),), _inside(shown, count))


def _inside(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], count: int) -> str:
    """Return the hint of a closed section: the names or the number of its items."""
    if not isinstance(value, Mapping):
        return counted(count, "item")
    names = [inline(str(name), 40) for name in islice(value, 8)]
    return ", ".join(names) + (f", … {count - 8:,} more" if count > 8 else "")


def _pairs(labels: Mapping[str, Any], limit: int) -> Line:
    shown = [
        f"{short(str(name), 120)}={inline(labels[name], 80)}" for name, _ in zip(labels, range(limit), strict=False)
    ]
    if len(labels) > limit:
        shown.append(f"… {len(labels) - limit:,} more")
    return line(", ".join(shown))


def _owners(references: object) -> Line:
    if not isinstance(references, list | tuple):
        return ()
    found = [each for each in references[:10] if isinstance(each, Mapping)]
    names = [f"{inline(each.get('kind'))}/{inline(each.get('name'), 253)}" for each in found]
    names += [f"… {len(references) - 10:,} more"] if len(references) > 10 else []
    return line(", ".join(names))


def _finalizers(metadata: Mapping[str, Any]) -> Line:
    """Return the finalizers of an object that is being deleted, which delay its deletion; empty for other objects."""
    found = metadata.get("finalizers")
    if not metadata.get("deletionTimestamp") or not isinstance(found, list | tuple):
        return ()
    return line(Span(", ".join(inline(each) for each in found[:10]), Tone.WARN))
