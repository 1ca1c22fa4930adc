"""How one object of any kind shows itself: what it is, how it fares, and all of it on request."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from dynkube._display.ages import age_of
from dynkube._display.cards import Block, Card, Chips, Facts, Line, Note, Section, Span, Tone, line, muted
from dynkube._display.definitions import definition_facts
from dynkube._display.health import condition_chips, health_of, mapping
from dynkube._display.values import DEFAULT, Aside, Limits, counted, inline, short, size_text, yaml_code

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_PARTS: Final = ("data", "stringData")
# What the head and the lines under it tell already.
_TOLD: Final = frozenset({"name", "namespace", "labels", "annotations", "managedFields", "ownerReferences"})


def object_card(obj: Mapping[str, Any], *, now: datetime, size: int = 0, limits: Limits = DEFAULT) -> Card:
    """An object as a card.

    Whatever is where by the rules of Kubernetes something else belongs is shown as it is, or left out of the lines
    that would have told it. The values of Secrets are not shown, neither are ``managedFields`` and what
    ``kubectl apply`` keeps of the object in an annotation.

    Args:
        obj: the object.
        now: what ages are reckoned up to.
        size: of its JSON in bytes, which is told of large ones.
        limits: how much is shown.
    """
    obj = _without_values(obj)
    head = _head(obj, now)
    if size > 100_000:
        head = (*head, muted(size_text(size)))
    return Card(head, tuple(_blocks(obj, limits)))


def unreadable_card(head: Line, problem: str) -> Card:
    """Something of which only the beginning can be read."""
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


def _blocks(obj: Mapping[str, Any], limits: Limits) -> Iterator[Block]:
    metadata = mapping(obj, "metadata")
    names = [name for name in obj if name not in ("apiVersion", "kind", "metadata")]
    names.sort(key=lambda name: name == "status")  # after everything that somebody wanted
    left, names = names[limits.items :], names[: limits.items]
    facts = Facts.of(
        [
            ("labels", _pairs(mapping(metadata, "labels"), limits.items)),
            ("owned by", _owners(metadata.get("ownerReferences"))),
            ("finalizers", _finalizers(metadata)),
            *definition_facts(obj),
            *((short(name, 80), inline(obj[name], 400)) for name in names if not _is_inner(obj[name])),
        ]
    )
    if facts.rows:
        yield facts
    if chips := condition_chips(obj, limits.items):
        yield Chips(chips)
    for name in names:
        if _is_inner(obj[name]) and obj[name]:
            yield Section(short(name, 80), (yaml_code(obj[name], limits),), _inside(obj[name]))
    if left:
        yield Note(line(f"and {counted(len(left), 'more field')}"))
    yield from _metadata(metadata, limits)


def _is_inner(value: object) -> bool:
    """Whether it holds others: what is empty is not worth a section."""
    return isinstance(value, Mapping | list | tuple)


def _metadata(metadata: Mapping[str, Any], limits: Limits) -> Iterator[Block]:
    annotations = dict(mapping(metadata, "annotations"))
    if isinstance(applied := annotations.get(_LAST_APPLIED), str):
        annotations[_LAST_APPLIED] = Aside(f"({size_text(len(applied))}, not shown)")
    if annotations:
        yield Section("annotations", (yaml_code(annotations, limits),), counted(len(annotations), "annotation"))
    shown: dict[str, Any] = {name: value for name, value in metadata.items() if name not in _TOLD}
    managers = metadata.get("managedFields")
    if isinstance(managers, list | tuple) and managers:
        said = f"({counted(len(managers), 'entry', 'entries')}, not shown: see dynkube.owners)"
        shown["managedFields"] = Aside(said)
    if shown:
        yield Section("metadata", (yaml_code(shown, limits),), _inside(shown))


def _inside(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> str:
    """A few words on what a section holds, as long as it is closed."""
    if not isinstance(value, Mapping):
        return counted(len(value), "item")
    names = [inline(str(name), 40) for name in islice(value, 8)]
    return ", ".join(names) + (f", … {len(value) - 8} more" if len(value) > 8 else "")


def _pairs(labels: Mapping[str, Any], limit: int) -> Line:
    shown = [
        f"{short(str(name), 120)}={inline(labels[name], 80)}" for name, _ in zip(labels, range(limit), strict=False)
    ]
    if len(labels) > limit:
        shown.append(f"… {len(labels) - limit} more")
    return line(", ".join(shown))


def _owners(references: object) -> Line:
    if not isinstance(references, list | tuple):
        return ()
    found = [each for each in references[:10] if isinstance(each, Mapping)]
    names = [f"{inline(each.get('kind'))}/{inline(each.get('name'), 253)}" for each in found]
    return line(", ".join(names))


def _finalizers(metadata: Mapping[str, Any]) -> Line:
    """Only of what waits to go: there they are the reason why it is still here."""
    found = metadata.get("finalizers")
    if not metadata.get("deletionTimestamp") or not isinstance(found, list | tuple):
        return ()
    return line(Span(", ".join(inline(each) for each in found[:10]), Tone.WARN))


# ── what is not for showing ───────────────────────────────────────────────────────────────────


def _without_values(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Secret, or a list with some in it, with sizes for values."""
    kind = obj.get("kind")
    if kind == "Secret":
        return {name: _sizes(name, part) if name in _SECRET_PARTS else part for name, part in obj.items()}
    items = obj.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list | tuple):
        own = {"kind": "Secret"} if kind == "SecretList" else {}
        shown = [_without_secrets(each, own) for each in items[:200]]
        return {**obj, "items": [*shown, *([Aside(f"… {len(items) - 200} more")] if len(items) > 200 else [])]}
    return obj


def _without_secrets(item: object, own: Mapping[str, Any]) -> object:
    """An item of a list; those of a SecretList do not say what they are."""
    if not isinstance(item, Mapping):
        return item
    shown = _without_values({**own, **item})
    metadata = mapping(shown, "metadata")
    annotations = mapping(metadata, "annotations")
    if shown.get("kind") == "Secret" and _LAST_APPLIED in annotations:
        kept = {name: value for name, value in annotations.items() if name != _LAST_APPLIED}
        return {**shown, "metadata": {**metadata, "annotations": kept}}
    return shown


def _sizes(section: str, part: object) -> object:
    if not isinstance(part, Mapping):
        return Aside("(not shown)") if part else part
    return {name: Aside(f"({_size(section, value)}, not shown)") for name, value in part.items()}


def _size(section: str, value: object) -> str:
    if not isinstance(value, str):
        return "no text"
    if section == "data":
        try:
            return size_text(len(base64.b64decode(value, validate=True)))
        except (binascii.Error, ValueError):
            return "no base64"
    return size_text(len(value.encode(errors="replace")))
