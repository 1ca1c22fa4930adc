"""Who owns what, changed by hand: ``managedFields`` rewritten, guarded by the resourceVersion they were read at.

A JSON patch of ``metadata.managedFields`` and ``metadata.resourceVersion``, as client-go's csaupgrade makes one. No
value changes. Where somebody wrote in between, the server refuses it, and it is worked out again from what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from dynkube.client._apply.applied import Applied, Change, change_of
from dynkube.client._apply.beside import calculated
from dynkube.client._deadline import Deadline
from dynkube.client._objects import as_object
from dynkube.client._options import WriteOptions
from dynkube.client._target import Target
from dynkube.client._writes import write_request
from dynkube.discovery import APIResource
from dynkube.errors import Conflict, InvalidInput
from dynkube.meta import JSONObject, PatchType, Unstructured, encode_json
from dynkube.rest import Request

Named: TypeAlias = str | Mapping[str, Any]
"""An object that is there, by its name or by anything that says which one: as read, or as a dict."""

Rewriting: TypeAlias = Callable[[Unstructured], list[JSONObject]]
"""From an object to the managedFields that it is to have."""

_ATTEMPTS = 5

# What resets managedFields (isResetManagedFields in apimachinery). An empty list does so for built-in kinds only: of a
# custom resource it is decoded as an absent one, and a write without managedFields keeps the live ones (1.20, 1.36).
_RESET: Final[list[JSONObject]] = [{}]


async def rewrite(
    target: Target, obj: Named, namespace: str | None, options: WriteOptions, rewriting: Rewriting
) -> Applied:
    """GET and PATCH, anew as long as somebody writes in between.

    Args:
        target: the resource.
        obj: which object.
        namespace: where, if it does not say so itself.
        options: how to patch.
        rewriting: what to make of its managedFields.

    Raises:
        Conflict: somebody wrote in between, again and again.
        InvalidInput: whatever ``rewriting`` raises.
    """
    deadline = Deadline.after(options.timeout)
    resource, path = await target.resolve_for(_path_of(target, obj, namespace), deadline.left())
    attempts = _ATTEMPTS
    while True:
        live = await target.send(Request(method="GET", path=path, timeout=deadline.left()), resource)
        patch = await calculated(partial(_patch, rewriting, live), live)
        if patch is None:
            return Applied(live.json, Change.UNCHANGED)
        request = write_request(
            "PATCH",
            path,
            patch,
            replace(options, timeout=deadline.left()),
            content_type=PatchType.JSON.content_type,
        )
        attempts -= 1
        try:
            after = await target.send(request, resource)
        except Conflict:
            if not attempts:
                raise
        else:
            change = partial(change_of, live, after, dry_run=options.dry_run)
            return Applied(after.json, await calculated(change, live, after))


def _patch(rewriting: Rewriting, live: Unstructured) -> bytes | None:
    """The JSON patch of one object; ``None`` where nothing is to change."""
    entries = rewriting(live)
    if entries == (live["metadata"].get("managedFields") or []):
        return None
    operations: list[dict[str, object]] = [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries or _RESET},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live.resource_version},
    ]
    return encode_json(operations)


def _path_of(target: Target, obj: Named, namespace: str | None) -> Callable[[APIResource], str]:
    if isinstance(obj, str):
        return lambda resource: target.path(resource, obj, namespace)
    if not isinstance(obj, Mapping):
        raise InvalidInput(f"{obj!r} is no object: give one, or its name")
    found = as_object(obj)
    return lambda resource: target.path_of(resource, found, namespace)
