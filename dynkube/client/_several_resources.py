"""Several resources in one call, as ``kubectl get po,svc`` and ``kubectl get all``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dynkube.client._client import APIClient
from dynkube.client._deadline import Deadline, within
from dynkube.client._notations import other_notations
from dynkube.client._options import FieldSelectorLike, LabelSelectorLike, check_timeout
from dynkube.client._resource import ResourceClient
from dynkube.discovery import DeferredRESTMapper, ResourceLike
from dynkube.discovery._failures import plain_failures
from dynkube.errors import APIError, DynkubeError, MappingError
from dynkube.meta import GVR, UnstructuredTable
from dynkube.meta._table import joined_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Collections:
    """The arguments of ``get`` that select objects, for each resource."""

    namespace: str | None
    label_selector: LabelSelectorLike
    field_selector: FieldSelectorLike
    limit: int | None
    timeout: float | None


async def read_tables(api: APIClient, resource: ResourceLike, wanted: Collections) -> UnstructuredTable:
    """Return the table of one resource, of several (``"po,svc"``), or of a category (``"all"``).

    Raises:
        DynkubeError: those of ``ResourceClient.table``; see :func:`_tables_of` for several resources.
    """
    check_timeout(wanted.timeout)
    deadline = Deadline.after(wanted.timeout)
    parts: list[ResourceLike] = [*resource.split(",")] if isinstance(resource, str) and "," in resource else [resource]
    for part in parts:  # none of which has a comma
        with other_notations(part, None):
            api.resource(part)  # raises before the first request if it is malformed
    with within(wanted.timeout, f"{resource}: discovery did not complete"), plain_failures():
        expanded = [await _in_category(api.mapper, part) for part in parts]
    if len(parts) > 1 or expanded[0] is not None:
        several: list[ResourceLike] = []
        unread: dict[str, DynkubeError] = {}
        for part, found in zip(parts, expanded, strict=True):
            several += (found and found.resources) or [part]
            unread |= found.unread if found else {}
        return await _tables_of(api, several, unread, wanted, deadline)
    with other_notations(resource, None):
        return await _table(api.resource(resource), wanted, wanted.namespace, deadline)


class _Category(NamedTuple):
    """The resources of a category, and why there may be more: the group-versions whose discovery failed."""

    resources: list[GVR]
    unread: dict[str, DynkubeError]


async def _in_category(mapper: DeferredRESTMapper, resource: ResourceLike) -> _Category | None:
    """Return the resources of a category such as ``all`` that can be listed; ``None`` for any other name.

    A category is preferred to a resource of the same name, as in kubectl. Reads discovery if it was never read, which
    every name that could be one of a category needs anyway.
    """
    if not isinstance(resource, str) or any(mark in resource for mark in "./"):
        return None
    name = resource.strip().lower()
    known = mapper.loaded or await mapper.load()
    if name not in known.categories:
        return None
    known = await mapper.load()  # reads what is outdated
    return _Category(
        [each.gvr for each in known.category(name) if "list" in each.verbs],
        {key: error for key, error in known.discovery.failures.items() if isinstance(error, DynkubeError)},
    )


async def _tables_of(
    api: APIClient,
    resources: Iterable[ResourceLike],
    unread: Mapping[str, DynkubeError],
    wanted: Collections,
    deadline: Deadline,
) -> UnstructuredTable:
    """Return the table of several resources, one request after the other.

    A resource that is not served, or that the server refuses to list, is in ``errors`` of the result, together with
    ``unread``. The namespace is ignored for cluster-scoped resources, as by kubectl.

    Raises:
        DynkubeError: an argument is invalid, there was no usable response, or no resource could be read: then the first
            error, with the others as notes.
    """
    found: dict[GVR, UnstructuredTable] = {}
    errors: dict[str, DynkubeError] = {}
    for resource in resources:
        try:
            with other_notations(resource, None):
                verbs = api.resource(resource)
                known = await verbs.resolve(timeout=deadline.left())
            if known.gvr not in found:
                namespace = wanted.namespace if known.namespaced else None
                found[known.gvr] = await _table(verbs, wanted, namespace, deadline)
        except (APIError, MappingError) as exc:
            errors[str(resource).strip()] = exc
    errors |= unread
    if not found:
        raise _first(errors)
    return joined_resources(tuple(found.values()), errors)


async def _table(
    verbs: ResourceClient, wanted: Collections, namespace: str | None, deadline: Deadline
) -> UnstructuredTable:
    return await verbs.table(
        namespace=namespace,
        label_selector=wanted.label_selector,
        field_selector=wanted.field_selector,
        limit=wanted.limit,
        timeout=deadline.left(),
    )


def _first(errors: dict[str, DynkubeError]) -> DynkubeError:
    first, *others = errors.items()
    for name, error in others:
        first[1].add_note(f"{name}: {error}")
    return first[1]
