"""Change field ownership by rewriting ``managedFields``.

Sends a JSON patch of ``metadata.managedFields`` and ``metadata.resourceVersion`` (as a precondition), as client-go's
csaupgrade does. No value changes. After a concurrent write (409) the patch is computed again from the current object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from dynkube.client._apply.result import Applied, Change, change_of
from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.client._deadline import Deadline
from dynkube.client._options import WriteOptions
from dynkube.client._requests.write import write_request
from dynkube.client._target import Target
from dynkube.discovery import APIResource
from dynkube.errors import Conflict, InvalidInput
from dynkube.meta import JSONObject, PatchType, Unstructured
from dynkube.meta._arguments import brief
from dynkube.meta._encode import encode_json
from dynkube.rest._messages import Request

Named: TypeAlias = str | Mapping[str, Any]
"""An existing object: its name, or a mapping with its name."""

Rewriting: TypeAlias = Callable[[Unstructured], list[JSONObject]]
"""Returns the new managedFields of an object."""

_ATTEMPTS = 5

# Resets managedFields (isResetManagedFields in apimachinery). An empty list resets them for built-in kinds only: for a
# custom resource it is decoded as absent, and a write without managedFields keeps the live ones (seen on Kubernetes
# 1.20 and 1.36).
_RESET: Final[list[JSONObject]] = [{}]


async def rewrite(
    target: Target, obj: Named, namespace: str | None, options: WriteOptions, rewriting: Rewriting
) -> Applied:
    """Read the object and patch its managedFields; repeated after concurrent writes.

    Args:
        target: the resource.
        obj: the object.
        namespace: namespace of the object if ``obj`` has none.
        options: write options.
        rewriting: computes the new managedFields.

    Raises:
        Conflict: concurrent writes in each of five attempts.
        InvalidInput: from ``rewriting``.
    """
    return await target.carry_out(options, partial(_rewrite, target, _path_of(target, obj, namespace), rewriting))


async def _rewrite(
    target: Target, path_of: Callable[[APIResource], str], rewriting: Rewriting, options: WriteOptions
) -> Applied:
    deadline = Deadline.after(options.timeout)
    _, path = await target.resolve_for(path_of, deadline.left())
    attempts = _ATTEMPTS
    while True:
        live = await target.send(Request(method="GET", path=path, timeout=deadline.left()))
        patch = await run_in_thread_if_large(partial(_patch, rewriting, live), live)
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
            after = await target.send(request)
        except Conflict:
            if not attempts:
                raise
        else:
            change = partial(change_of, live, after, dry_run=options.dry_run)
            return Applied(after.json, await run_in_thread_if_large(change, live, after))


def _patch(rewriting: Rewriting, live: Unstructured) -> bytes | None:
    """Return the JSON patch of one object; ``None`` if nothing changes."""
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
        raise InvalidInput(f"{brief(obj)} is not an object: pass an object, or its name")
    found = obj if isinstance(obj, Unstructured) else Unstructured(obj)
    return lambda resource: target.path_of(resource, found, namespace)
