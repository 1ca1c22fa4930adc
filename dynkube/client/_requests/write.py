"""Write requests: create, update, patch, delete.

Each validates its arguments, then sends one request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from dynkube.client._listwatch import ListWatch
from dynkube.client._objects import (
    ObjectLike,
    as_object,
    check_kind,
    check_name,
    namespace_of_object,
)
from dynkube.client._options import DeleteOptions, Selection, WriteOptions
from dynkube.client._target import Target, as_answered
from dynkube.discovery import APIResource
from dynkube.errors import APIError, InvalidInput, InvalidObject, WrongScope
from dynkube.fields._redaction import without_values_in
from dynkube.meta import GVR, PatchType, Unstructured, UnstructuredList
from dynkube.meta._arguments import a_type
from dynkube.meta._encode import json_of
from dynkube.meta._path import resource_path
from dynkube.rest._messages import Request

PatchLike: TypeAlias = Mapping[str, object] | Sequence[Mapping[str, object]] | bytes | str
"""A patch as data (a dict, or a list of operations for a JSON patch), or as str or bytes to send unchanged."""
PatchTypeLike: TypeAlias = PatchType | Literal["json", "merge", "strategic", "apply"]

_LARGEST_STATUS: Final = 64 << 10  # bytes; what is larger is a list
_SECRETS = GVR("", "v1", "secrets")
_OPERATIONS = "a list of operations like [{'op': 'replace', 'path': '/spec/replicas', 'value': 3}]"
_FIELDS = "a dict like {'spec': {'replicas': 3}}"


async def create(target: Target, obj: ObjectLike, namespace: str | None, options: WriteOptions) -> Unstructured:
    """POST an object to its collection."""
    body = as_object(obj)

    def place(resource: APIResource) -> str:
        check_kind(body, resource)
        check_name(body, generate=True)
        where = namespace_of_object(body, resource, namespace, default=target.session.namespace)
        return resource_path(resource.gvr, namespace=where)

    return await send_body(target, "POST", body.json, options, place)


async def update(
    target: Target, obj: ObjectLike, namespace: str | None, options: WriteOptions, *, subresource: str | None = None
) -> Unstructured:
    """PUT an object, or a subresource such as ``status``."""
    body = as_object(obj)
    return await send_body(
        target, "PUT", body.json, options, lambda found: target.path_of(found, body, namespace, subresource=subresource)
    )


async def patch(
    target: Target,
    name: str,
    change: PatchLike,
    patch_type: PatchTypeLike,
    namespace: str | None,
    options: WriteOptions,
    *,
    subresource: str | None = None,
) -> Unstructured:
    """PATCH an object or a subresource of it."""
    kind = PatchType.parse(patch_type)
    if options.force is not None and kind is not PatchType.APPLY:
        raise InvalidInput(f"force is allowed only with patch type 'apply', not with {kind.value!r}: leave it out")
    body = _patch_body(change, kind)
    return await send_body(
        target,
        "PATCH",
        body,
        options,
        lambda found: target.path(found, name, namespace, subresource=subresource),
        content_type=kind.content_type,
    )


async def delete(target: Target, name: str, namespace: str | None, options: DeleteOptions) -> Unstructured | None:
    """DELETE one object."""

    async def attempt(options: DeleteOptions) -> Unstructured | None:
        _, path, options = await target.resolve_within(options, lambda found: target.path(found, name, namespace))
        answer = await target.send(Request(method="DELETE", path=path, body=options.body(), timeout=options.timeout))
        return None if answer.kind == "Status" and answer.api_version == "v1" else answer

    return await target.carry_out(options, attempt)


async def delete_collection(
    target: Target, namespace: str | None, selection: Selection, options: DeleteOptions
) -> UnstructuredList:
    """DELETE the matching objects of one namespace, or of a cluster-scoped resource."""

    def place(resource: APIResource) -> ListWatch:
        if resource.namespaced and namespace is None:
            raise WrongScope(
                f"{resource.gvr} can only be deleted in one namespace at a time: pass namespace= "
                "(the API has no deletion across namespaces)"
            )
        return target.collection_of(resource, namespace, selection)

    async def attempt(options: DeleteOptions) -> UnstructuredList:
        _, collection, options = await target.resolve_within(options, place)
        request = replace(collection.list_request(), method="DELETE", body=options.body(), timeout=options.timeout)
        answer = await target.answer(request)
        if len(answer.body) <= _LARGEST_STATUS and as_answered(answer).kind == "Status":
            return UnstructuredList(())
        return await collection.read(answer)

    return await target.carry_out(options, attempt)


async def send_body(
    target: Target,
    method: str,
    body: bytes,
    options: WriteOptions,
    place: Callable[[APIResource], str],
    *,
    content_type: str = "application/json",
) -> Unstructured:
    """Send an object or a patch to the path that ``place`` returns for the resource."""

    async def attempt(options: WriteOptions) -> Unstructured:
        resource, path, options = await target.resolve_within(options, place)
        try:
            return await target.send(write_request(method, path, body, options, content_type=content_type))
        except APIError as error:
            shown = without_values_in(error, body, secret=resource.gvr == _SECRETS)
            if shown is error:
                raise
            raise shown from None

    return await target.carry_out(options, attempt)


def _patch_body(change: PatchLike, kind: PatchType) -> bytes:
    if isinstance(change, bytes):
        return change
    if isinstance(change, str):
        return _encoded(change)
    if isinstance(change, Unstructured):
        return change.json
    fits, wanted = (isinstance(change, Mapping), _FIELDS)
    if kind is PatchType.JSON:
        fits, wanted = (isinstance(change, list | tuple), _OPERATIONS)
    if not fits:
        raise InvalidInput(f"a patch of type {kind.value!r} must be {wanted}, not {a_type(change)}")
    return json_of(change, "the patch")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidObject("the patch is not valid Unicode: it contains a lone surrogate") from None


def write_request(
    method: str, path: str, body: bytes, options: WriteOptions, *, content_type: str = "application/json"
) -> Request:
    """Return the request of a verb that sends an object or a patch."""
    return Request(
        method=method,
        path=path,
        params=options.params(),
        body=body,
        content_type=content_type,
        timeout=options.timeout,
    )
