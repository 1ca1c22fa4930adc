"""Renderers of resources, like ``kubectl api-resources``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, TypeAlias

from dynkube._display.cards import Block, Card, Chips, Facts, Line, Note, Span, Tone, line, muted
from dynkube._display.definitions import definition_versions
from dynkube._display.health import condition_chips
from dynkube._display.lists import ListColumn, list_card
from dynkube._display.registry import render
from dynkube._display.values import DEFAULT, inline
from dynkube._text.words import counted, several, short
from dynkube.discovery import (
    APIDiscovery,
    APIResource,
    APIResources,
    ResourceAvailability,
    ResourceLike,
    RESTMapper,
)
from dynkube.discovery._lookup import definition_name
from dynkube.discovery._suggestions import not_installed
from dynkube.errors import MappingError, NoMatch
from dynkube.meta import Unstructured

Definitions: TypeAlias = Callable[[str], Unstructured | None]
"""Returns the CRD of a name, if it is known. Does no I/O."""

_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_CHANGED: Final = "The cluster has changed since this was read: the next request reads it again."
_ROWS: Final = 100  # all resources of a cluster without many CRDs
_FAILURES: Final = 20
_COLUMNS: Final = (
    ListColumn("NAME", lambda each: short(each.gvr.resource, 120)),
    ListColumn("SHORT NAMES", lambda each: several(each.short_names, separator=",")),
    ListColumn("API VERSION", lambda each: short(each.gvr.api_version, 120)),
    ListColumn("KIND", lambda each: short(each.kind, 120)),
    ListColumn("NAMESPACED", lambda each: "true" if each.namespaced else "false"),
    ListColumn(
        "VERBS", lambda each: muted("all" if each.verbs.issuperset(_VERBS) else short(several(_verbs_of(each)), 120))
    ),
    ListColumn("CATEGORIES", lambda each: several(each.categories, separator=",")),
)


@render.register(APIResource)
def resource_card(resource: APIResource, now: datetime) -> Card:
    """Return the card of one resource."""
    return _resource_card(resource)


@render.register(ResourceAvailability)
def availability_card(found: ResourceAvailability, now: datetime) -> Card:
    """Return the card of a resource that may not be served."""
    if found.resource is None:
        return _absent_card(found.name, found.message, found.definition)
    return _resource_card(found.resource, found.versions, found.definition, note=found.message)


@render.register(APIResources)
def listing_card(resources: APIResources, now: datetime) -> Card:
    """Return the card of several resources, and the failures of discovery."""
    return _resources_card(resources, resources.failures, "API resources")


@render.register(APIDiscovery)
def discovery_card(discovery: APIDiscovery, now: datetime) -> Card:
    """Return the card of a snapshot of discovery."""
    return _resources_card(discovery.resources, discovery.failures, "API discovery")


def named_card(
    name: ResourceLike,
    mapper: RESTMapper | None,
    definition: Definitions = lambda name: None,
    *,
    outdated: bool = False,
) -> Card:
    """Return a card for a name, from what is known.

    An absent resource is not an error.

    Args:
        name: the name as given.
        mapper: the mapper as last read; ``None`` before the first load.
        definition: returns the CRD of a name (``"httproutes.gateway.networking.k8s.io"``), if it is known. Does no I/O.
        outdated: whether the cluster is known to have changed since ``mapper`` was read.
    """
    named = definition_name(name)
    crd = definition(named) if named else None
    if mapper is None:
        head = line("resource", Span(short(str(name), 200), Tone.STRONG))
        return Card(head, (*_defined(crd), Note(line("Not known yet: availability() and every request look it up."))))
    try:
        resource = mapper.resource_for(name)
    except NoMatch as exc:
        return _absent_card(name, not_installed(str(exc), crd is not None), crd, outdated=outdated)
    except MappingError as exc:
        head = line("resource", Span(short(str(name), 200), Tone.STRONG))
        return Card(head, (Note(line(Span(short(str(exc), 400), Tone.BAD))), *_defined(crd)))
    crd = definition(resource.gvr.crd_name) or crd
    return _resource_card(resource, mapper.discovery.versions_of(resource.gvr), crd, outdated=outdated)


def _absent_card(name: object, why: str, definition: Unstructured | None = None, *, outdated: bool = False) -> Card:
    """Return a card for a resource that is not served.

    Args:
        name: the name as given.
        why: the reason.
        definition: its CRD, if there is one nevertheless.
        outdated: whether that may have changed.
    """
    chip = Span("was not installed" if outdated else "not installed", Tone.WARN if outdated else Tone.PLAIN, chip=True)
    goes_live = "An informer on its full name starts as soon as it is served."
    notes = (Note(line(_CHANGED)),) if outdated else (Note(line(short(why, 400))), Note(line(goes_live)))
    return Card(line("resource", Span(short(str(name), 200), Tone.STRONG), chip), (*_defined(definition), *notes))


def _resource_card(
    resource: APIResource,
    versions: Sequence[str] = (),
    definition: Unstructured | None = None,
    *,
    note: str = "",
    outdated: bool = False,
) -> Card:
    """Return a card for one resource.

    Args:
        resource: the resource.
        versions: its served versions; empty if not known.
        definition: its CRD, if it is known.
        note: an additional remark.
        outdated: whether any of that may have changed.
    """
    gvr = resource.gvr
    preferred = resource.group_preferred_version
    facts = Facts.of(
        [
            ("name", Span(str(gvr))),
            ("short", several(list(filter(None, (*resource.short_names, resource.singular))))),
            ("categories", several(resource.categories)),
            ("verbs", several(_verbs_of(resource)) or muted("none")),
            ("subresources", several(sorted(resource.subresources))),
            ("versions", several(versions) if len(versions) > 1 and definition is None else ""),
            ("preferred", f"{preferred}, not {gvr.version}" if preferred not in ("", gvr.version) else ""),
            *_definition_rows(definition),
        ]
    )
    scope = "in namespaces" if resource.namespaced else "cluster-wide"
    head = line(f"{gvr.api_version} {resource.kind}", Span(gvr.resource, Tone.STRONG), muted(scope))
    notes = (Note(line(text)) for text in (note, _CHANGED if outdated else "") if text)
    return Card(head, (facts, *_conditions(definition), *notes))


def _defined(definition: Unstructured | None) -> Iterator[Block]:
    """Yield the versions and conditions of a CRD."""
    if definition is not None:
        yield Facts.of(_definition_rows(definition))
        yield from _conditions(definition)


def _definition_rows(definition: Unstructured | None) -> Iterator[tuple[str, str | Line]]:
    if definition is not None:
        yield "CRD", inline(definition.name, 200)
        yield "versions", definition_versions(definition)


def _conditions(definition: Unstructured | None) -> Iterator[Block]:
    if definition is not None and (chips := condition_chips(definition, DEFAULT.items)):
        yield Chips(chips)


def _resources_card(resources: Sequence[APIResource], failures: Mapping[str, Exception], head: str) -> Card:
    groups = len({each.gvr.group for each in resources})
    card = list_card(
        line(head, counted(len(resources), "resource"), counted(groups, "group")),
        resources,
        _COLUMNS,
        first=_ROWS - _ROWS // 5,
        last=_ROWS // 5,
    )
    return Card(card.head, (*card.blocks, *_failed(failures)))


def _verbs_of(resource: APIResource) -> list[str]:
    """Return the supported verbs, in the conventional order."""
    return sorted(resource.verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb))


def _failed(failures: Mapping[str, Exception]) -> Iterable[Block]:
    for group_version, error in islice(failures.items(), _FAILURES):
        what = "the list of groups" if group_version == "*" else short(group_version, 120)
        yield Note(line(Span(f"{what} could not be read: {short(str(error), 200)}", Tone.BAD)))
    if len(failures) > _FAILURES:
        yield Note(line(Span(f"and {len(failures) - _FAILURES:,} more could not be read", Tone.BAD)))
