"""Sequences of resources, and their short names for completion. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from dynkube._displayable import Displayable, text_without_heading
from dynkube._text.tables import printable
from dynkube.discovery._resources import APIDiscovery, APIResource
from dynkube.errors import InvalidInput


class APIResources(Displayable, Sequence[APIResource]):
    """A sequence of resources, rendered like ``kubectl api-resources``.

    Attributes:
        failures: errors by group-version. The resources of these group-versions may be missing or outdated; see
            :attr:`APIDiscovery.failures`.
    """

    __slots__ = ("_resources", "failures")

    def __init__(self, resources: Iterable[APIResource], failures: Mapping[str, Exception]) -> None:
        self._resources = tuple(resources)
        self.failures: Mapping[str, Exception] = failures

    @overload
    def __getitem__(self, index: int) -> APIResource: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[APIResource, ...]: ...
    def __getitem__(self, index: int | slice) -> APIResource | tuple[APIResource, ...]:
        return self._resources[index]

    def __len__(self) -> int:
        return len(self._resources)

    def __str__(self) -> str:
        return text_without_heading(self)

    def __repr__(self) -> str:
        failed = f", unread: {', '.join(self.failures)}" if self.failures else ""
        return printable(f"<APIResources {len(self)}{failed}>")


def listing(
    discovery: APIDiscovery,
    *,
    group: str | None = None,
    namespaced: bool | None = None,
    verb: str | None = None,
    category: str | None = None,
    all_versions: bool = False,
) -> APIResources:
    """Return the resources that match all filters, in order of priority.

    ``None`` disables a filter.

    Raises:
        InvalidInput: a filter has the wrong type.
    """
    for name, wish, wanted in (
        ("group", group, str),
        ("namespaced", namespaced, bool),
        ("verb", verb, str),
        ("category", category, str),
        ("all_versions", all_versions, bool),
    ):
        if wish is not None and not isinstance(wish, wanted):
            raise InvalidInput(f"{name} is {wish!r}: pass {'a string' if wanted is str else 'True or False'}")
    chosen = (
        each
        for each in (discovery.resources if all_versions else _in_best_version(discovery))
        if (group is None or each.gvr.group == group)
        and (namespaced is None or each.namespaced == namespaced)
        and (verb is None or verb in each.verbs)
        and (category is None or category in each.categories)
    )
    return APIResources(chosen, discovery.failures)


def completions(discovery: APIDiscovery) -> list[str]:
    """Return the shortest name of each resource.

    This is its plural, with the group if several groups have the same plural.
    """
    names: dict[str, None] = {}
    for each in _in_best_version(discovery):
        gvr = each.gvr
        names.setdefault(gvr.resource if gvr.resource not in names else f"{gvr.resource}.{gvr.group}")
    return list(names)


def _in_best_version(discovery: APIDiscovery) -> Iterator[APIResource]:
    seen: set[tuple[str, str]] = set()
    for each in discovery.resources:
        key = (each.gvr.group, each.gvr.resource)
        if key not in seen:
            seen.add(key)
            yield each
