"""Server-side apply: send the fields you want to own, the server merges and remembers who owns what.

Semantics are the server's (KEP-555): a field that was in this manager's last apply and is not in this one
is given up, and removed if nobody else owns it; a field that another manager owns with another value is a
conflict, unless ``force`` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from dynkube.client._objects import ObjectLike, as_object, check_kind, check_name, namespace_of_object
from dynkube.client._options import WriteOptions
from dynkube.client._target import Target
from dynkube.client._writes import write_request
from dynkube.discovery import APIResource
from dynkube.errors import InvalidObject
from dynkube.meta import PatchType, Unstructured


async def apply(
    target: Target, obj: ObjectLike, namespace: str | None, options: WriteOptions, *, subresource: str | None = None
) -> Unstructured:
    """PATCH with the fields of ``obj``; creates the object where there is none."""
    body = as_object(obj)
    resource = await target.resolve()
    _check_applicable(body, resource)
    namespace = namespace_of_object(body, resource, namespace, default=target.session.namespace)
    path = target.path(resource, body.name, namespace, subresource=subresource)
    request = write_request("PATCH", path, body.json, options, content_type=PatchType.APPLY.content_type)
    return await target.send(request, resource)


def _check_applicable(obj: Unstructured, resource: APIResource) -> None:
    check_kind(obj, resource)
    check_name(obj)
    metadata = obj["metadata"]
    if isinstance(metadata, Mapping) and metadata.get("managedFields"):
        raise InvalidObject(
            f"{obj.kind} {obj.name!r} has metadata.managedFields, so it was read from a server: applying it would "
            "claim every field in it. Write an object with only the fields you want to own; to change what you read "
            "and send all of it back, use update(). The server refuses managedFields in an apply."
        )
