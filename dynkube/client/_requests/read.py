"""Read requests: one object, a collection, a collection in pages."""

from __future__ import annotations

from functools import partial

from dynkube.client._identity import UnexpectedKind, check_identity
from dynkube.client._options import GetOptions, ListOptions, Selection
from dynkube.client._pages import ObjectIterator, joined, list_all
from dynkube.client._requests.table import Tables
from dynkube.client._target import Target, as_answered
from dynkube.meta import Unstructured, UnstructuredList, UnstructuredTable
from dynkube.meta._table import joined_tables
from dynkube.rest._messages import Request


async def get(
    target: Target, name: str, namespace: str | None, options: GetOptions, *, subresource: str | None = None
) -> Unstructured:
    """GET one object, or a subresource of it.

    Raises:
        ProtocolError: the response is another object than requested.
    """
    return await target.carry_out(options, partial(_get, target, name, namespace, subresource))


async def _get(
    target: Target, name: str, namespace: str | None, subresource: str | None, options: GetOptions
) -> Unstructured:
    resource, path, options = await target.resolve_within(
        options, lambda found: target.path(found, name, namespace, subresource=subresource)
    )
    request = Request(method="GET", path=path, params=options.params(), timeout=options.timeout)
    answer = await target.answer(request)
    obj = as_answered(answer)
    if subresource is None:
        place = name, target.namespace_of(resource, namespace)
        try:
            check_identity(obj, resource, *place, request=answer.request)
        except UnexpectedKind:
            # Discovery is cached: the CRD may have been replaced by one with another kind, so discover it again.
            target.session.mapper.recheck(target.spec)
            resource = await target.resolve(options.timeout)
            check_identity(obj, resource, *place, request=answer.request)
    return obj


async def list_objects(
    target: Target, namespace: str | None, selection: Selection, options: ListOptions
) -> UnstructuredList:
    """GET a collection."""

    async def attempt(options: ListOptions) -> UnstructuredList:
        _, collection, options = await target.resolve_within(
            options, lambda found: target.collection_of(found, namespace, selection)
        )
        return await list_all(collection, options, joined)

    return await target.carry_out(options, attempt)


async def table(target: Target, namespace: str | None, selection: Selection, options: ListOptions) -> UnstructuredTable:
    """GET a collection as a table with the server's columns."""

    async def attempt(options: ListOptions) -> UnstructuredTable:
        resource, collection, options = await target.resolve_within(
            options, lambda found: target.collection_of(found, namespace, selection)
        )
        return await list_all(Tables(target.session.rest, collection, resource), options, joined_tables)

    return await target.carry_out(options, attempt)


def iterate(
    target: Target, namespace: str | None, selection: Selection, options: ListOptions, *, allow_inconsistent: bool
) -> ObjectIterator:
    """GET a collection page by page; nothing is sent before the first step."""
    return ObjectIterator(target, namespace, selection, options, allow_inconsistent=allow_inconsistent)
