"""Error messages for names that were not found, with suggestions and failures.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from dynkube.discovery._lookup import Lookup
from dynkube.discovery._resources import EVERYTHING, APIDiscovery, APIResource

_SHOWN = 3
_REMEDY = ": correct the name, or install the CRD that defines it"


def no_match(lookup: Lookup, discovery: APIDiscovery) -> str:
    """Return the message for a resource that is not served, with suggestions."""
    return f"the server does not serve {lookup.text!r}{_hint(lookup, discovery.resources)}"


def not_installed(why: str, is_defined: bool) -> str:
    """Return why a resource is not served.

    Args:
        why: the reason from discovery.
        is_defined: whether its CRD exists nevertheless; the result then refers to the CRD.
    """
    return "its CRD exists but does not serve it: see the CRD's conditions and versions" if is_defined else why


def no_category(name: str, known: Iterable[str]) -> str:
    """Return the message for a category without resources, with the known categories."""
    names = ", ".join(sorted(known))
    return f"the server has no resources in category {name!r}" + (f"; its categories are {names}" if names else "")


def unresolved_message(text: str, failures: Mapping[str, Exception]) -> str:
    """Return the message for an unresolved name, with the group-versions that failed."""
    shown = [f"{_failed(key)} ({error})" for key, error in list(failures.items())[:_SHOWN]]
    more = f" and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return f"unknown whether the server serves {text!r}: could not read {', '.join(shown)}{more}"


def _failed(key: str) -> str:
    return "the list of API groups" if key == EVERYTHING else key


def _hint(lookup: Lookup, resources: tuple[APIResource, ...]) -> str:
    name = lookup.name.lower()
    names: dict[str, list[APIResource]] = {}
    for resource in resources:
        for spelling in dict.fromkeys((resource.gvr.resource, resource.singular, resource.kind.lower())):
            names.setdefault(spelling, []).append(resource)
    if elsewhere := names.get(name):
        return f"; it serves {_join(str(resource.gvr) for resource in elsewhere)}"
    if lookup.group is None and any(name in resource.categories for resource in resources):
        return f": it is a category; name one of its resources, or read all with client.get({name!r})"
    # Names in the right group are preferred.
    here = [spelling for spelling, found in names.items() if any(lookup.may_concern(r.gvr.group) for r in found)]
    near = get_close_matches(name, here, n=_SHOWN, cutoff=0.7) or get_close_matches(name, names, n=_SHOWN, cutoff=0.7)
    if near:
        return (
            f"; did you mean {_join(dict.fromkeys(repr(_full_name(names[spelling][0])) for spelling in near), 'or')}?"
        )
    groups = {resource.gvr.group for resource in resources if resource.gvr.group}
    if lookup.group and not any(lookup.may_concern(group) for group in groups):
        close = get_close_matches(lookup.group, sorted(groups), n=_SHOWN, cutoff=0.7)
        return f"; it has no API group {lookup.group!r}" + (f", but {_join(close)}" if close else _REMEDY)
    return _REMEDY


def _full_name(resource: APIResource) -> str:
    gvr = resource.gvr
    return f"{gvr.resource}.{gvr.group}" if gvr.group else gvr.resource


def _join(names: Iterable[str], word: str = "and") -> str:
    *first, last = list(names)[:_SHOWN]
    return f"{', '.join(first)} {word} {last}" if first else last
