"""What an object owns, of any kind: metadata of all objects where they may be, by ownerReferences.

Nothing tells which kinds an object owns, so the metadata of all of them is listed, as kubectl-tree does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import trio

from dynkube._nursery import OwnedNursery
from dynkube.client._client import APIClient
from dynkube.client._listwatch import ListWatch
from dynkube.client._options import ListOptions
from dynkube.client._pages import joined, list_all
from dynkube.discovery import APIDiscovery, APIResource
from dynkube.discovery._listing import listing
from dynkube.errors import APIError, TransportError
from dynkube.errors._evidence import Evidence, evidence_of
from dynkube.informers import OwnerTree, owner_tree
from dynkube.meta import FieldSelector, LabelSelector, Unstructured, UnstructuredList
from dynkube.meta._wire.metadata_only import MetadataReader
from dynkube.meta._wire.objects import ObjectDecoder

_PARALLEL: Final = 8
# They are about other objects, and have no owners. Servers warn if Endpoints are listed; EndpointSlices replace them.
_LEFT_OUT: Final = frozenset({"events", "componentstatuses", "endpoints"})
_MEASURED: Final = "metrics.k8s.io"  # not stored, and slow


async def owned_objects(api: APIClient, obj: Unstructured) -> OwnerTree:
    """Return the tree of what an object owns; of the objects below it only the metadata is read.

    The notes of the tree name the resources that could not be listed: one note for all that the user may not list.
    """
    found: list[UnstructuredList] = []
    notes: list[str] = []
    forbidden: list[APIResource] = []
    known = (await api.mapper.load()).discovery
    resources = _resources(known, obj)
    notes += [
        f"discovery of {name} failed, so objects of it may be missing: {exc}" for name, exc in known.failures.items()
    ]
    limit = trio.CapacityLimiter(_PARALLEL)
    left = len(resources)
    done = trio.Event()

    async def read(resource: APIResource) -> None:
        nonlocal left
        try:
            async with limit:
                found.append(await _metadata(api, resource, obj.namespace or None))
        except (APIError, TransportError) as exc:
            if evidence_of(exc) is Evidence.NOT_AUTHORIZED:
                forbidden.append(resource)
            else:
                notes.append(f"{resource} could not be listed, and may be missing: {exc}")
        left -= 1
        if not left:
            done.set()

    async with OwnedNursery() as nursery:
        for resource in resources:
            nursery.start_soon(read, resource)
        if resources:
            await done.wait()
    tree = owner_tree(obj, found)
    return OwnerTree(tree.object, tree.children, (*tree.notes, *_about(forbidden), *sorted(notes)))


def _about(forbidden: Sequence[APIResource]) -> Iterator[str]:
    """Yield one note for all resources that the user may not list: most users may not list many of them."""
    if forbidden:
        names = ", ".join(sorted(resource.gvr.crd_name.rstrip(".") for resource in forbidden))
        yield f"the user may not list these resources (403 Forbidden), so objects of them may be missing: {names}"


def _resources(known: APIDiscovery, owner: Unstructured) -> list[APIResource]:
    """Return the resources whose objects ``owner`` may own."""
    served = listing(known, verb="list", namespaced=True if owner.namespace else None)
    return [each for each in served if each.gvr.resource not in _LEFT_OUT and each.gvr.group != _MEASURED]


async def _metadata(api: APIClient, resource: APIResource, namespace: str | None) -> UnstructuredList:
    reader = MetadataReader(resource.gvr.api_version, resource.kind, lambda: None)
    collection = ListWatch(
        api.rest,
        resource.gvr,
        namespace=namespace if resource.namespaced else None,
        label_selector=LabelSelector(),
        field_selector=FieldSelector(),
        decoder=ObjectDecoder(metadata_only=True, reduce=reader.reduced),
    )
    return await list_all(collection, ListOptions(), joined)
