"""How resources show themselves: one with all that discovery says of it, many as ``kubectl api-resources`` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dynkube._display import Block, Card, Column, Facts, Note, Span, Tone, counted, line, list_card, muted, short
from dynkube.errors import MappingError, NoMatch

if TYPE_CHECKING:
    from dynkube.discovery._lookup import ResourceLike
    from dynkube.discovery._mapper import RESTMapper
    from dynkube.discovery._resources import APIResource

_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_COLUMNS: Final = (
    Column("NAME", lambda each: each.gvr.resource),
    Column("SHORT NAMES", lambda each: ",".join(each.short_names)),
    Column("API VERSION", lambda each: each.gvr.api_version),
    Column("KIND", lambda each: each.kind),
    Column("NAMESPACED", lambda each: "true" if each.namespaced else "false"),
    Column(
        "VERBS", lambda each: muted("all" if each.verbs.issuperset(_VERBS) else short(", ".join(verbs_of(each)), 120))
    ),
    Column("CATEGORIES", lambda each: ",".join(each.categories)),
)


def verbs_of(resource: APIResource) -> list[str]:
    """What the server allows, in the order in which people name it."""
    return sorted(resource.verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb))


def _verbs(resource: APIResource) -> str:
    return "all verbs" if resource.verbs.issuperset(_VERBS) else short(", ".join(verbs_of(resource)), 120)


def named_card(name: ResourceLike, mapper: RESTMapper | None) -> Card:
    """What a name means, as far as it is known here: that nothing of the kind is served is an answer, and no trouble.

    Args:
        name: as somebody gave it.
        mapper: what was read of the server; ``None`` before anything was.
    """
    asked = Span(short(str(name), 200), Tone.STRONG)
    if mapper is None:
        return Card(line("resource", asked), (Note(line("The server is asked what it is when a verb is used.")),))
    try:
        resource = mapper.resource_for(name)
    except NoMatch as exc:
        goes_live = "An informer on its full name follows it from the moment that it is served."
        notes = (Note(line(short(str(exc), 400))), Note(line(goes_live)))
        return Card(line("resource", asked, Span("not installed", chip=True)), notes)
    except MappingError as exc:
        return Card(line("resource", asked), (Note(line(Span(short(str(exc), 400), Tone.BAD))),))
    return resource_card(resource, mapper.discovery.group(resource.gvr.group))


def resource_card(resource: APIResource, siblings: Sequence[APIResource] = ()) -> Card:
    """One resource.

    Args:
        resource: which one.
        siblings: the resources of its group, in all versions; empty where they are not known.
    """
    gvr = resource.gvr
    preferred = resource.group_preferred_version
    versions = [each.gvr.version for each in siblings if each.gvr.resource == gvr.resource]
    facts = Facts.of(
        [
            ("name", Span(str(gvr))),
            ("short", ", ".join(filter(None, (*resource.short_names, resource.singular)))),
            ("categories", ", ".join(resource.categories)),
            ("verbs", ", ".join(verbs_of(resource)) or muted("none")),
            ("subresources", ", ".join(sorted(resource.subresources))),
            ("versions", ", ".join(versions) if len(versions) > 1 else ""),
            ("preferred", f"{preferred}, and not {gvr.version}" if preferred not in ("", gvr.version) else ""),
        ]
    )
    scope = "in namespaces" if resource.namespaced else "cluster-wide"
    return Card(line(f"{gvr.api_version} {resource.kind}", Span(gvr.resource, Tone.STRONG), muted(scope)), (facts,))


def resources_card(resources: Sequence[APIResource], failures: Mapping[str, Exception], head: str, most: int) -> Card:
    """Many resources, and what could not be read.

    Args:
        resources: in the order to show them.
        failures: by group-version.
        head: what they are.
        most: how many rows.
    """
    groups = len({each.gvr.group for each in resources})
    card = list_card(
        line(head, counted(len(resources), "resource"), counted(groups, "group")),
        resources,
        _COLUMNS,
        first=most - most // 5,
        last=most // 5,
    )
    return Card(card.head, (*card.blocks, *_failed(failures)))


def _failed(failures: Mapping[str, Exception]) -> Iterable[Block]:
    for group_version, error in failures.items():
        what = "the list of groups" if group_version == "*" else group_version
        yield Note(line(Span(f"{what} could not be read: {short(str(error), 200)}", Tone.BAD)))
