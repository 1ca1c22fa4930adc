"""URL paths of resources and objects on the API server."""

from __future__ import annotations

from urllib.parse import quote

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.meta._gvr import GVR
from dynkube.meta._names import namespace_problem


def resource_path(
    gvr: GVR, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None
) -> str:
    """Return the URL path of a collection, an object or a subresource.

    It is percent-encoded.

    Args:
        gvr: the resource; the core group has ``""`` as its group.
        namespace: ``None`` or ``""`` for cluster-scoped resources and for a collection over all namespaces.
        name: ``None`` for the collection. An empty name is rejected, since it would silently address the whole
            collection (``DELETE`` included).
        subresource: ``"status"``, ``"scale"``, ...; requires a name.

    Returns:
        For example ``/apis/apps/v1/namespaces/shop/deployments/web/scale``.

    Raises:
        InvalidInput: a part cannot be a path segment: it is empty, ``.`` or ``..``, or contains ``/`` or ``%``. (The
            API server rejects those in every name; everything else is percent-encoded, which RBAC names like
            ``system:node`` need.) Or the namespace name is invalid.
    """
    if subresource is not None and name is None:
        raise InvalidInput(f"subresource {subresource!r} of {gvr} requires the name of an object")
    parts = ["/apis", _segment("group", gvr.group)] if gvr.group else ["/api"]
    parts.append(_segment("version", gvr.version))
    if namespace:
        parts += ["namespaces", _segment("namespace", namespace)]
        # Checked here, as a server would return an empty list, which looks like a valid result.
        if (problem := namespace_problem(namespace)) is not None:
            raise InvalidInput(f"namespace {namespace!r} {problem}")
    parts.append(_segment("resource", gvr.resource))
    if name is not None:
        parts.append(_segment("name", name))
    if subresource is not None:
        parts.append(_segment("subresource", subresource))
    return "/".join(parts)


def _segment(what: str, text: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"{what} is {a_type(text)} ({text!r}), not a string")
    if not text:
        raise InvalidInput(f"{what} is empty")
    if text in (".", ".."):
        raise InvalidInput(f"{what} {text!r} is not allowed: it would change the path")
    for character in "/%":
        if character in text:
            raise InvalidInput(f"{what} {text!r} must not contain {character!r}")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:  # a lone surrogate, as in a file name or broken JSON
        raise InvalidInput(f"{what} {text!r} is not valid Unicode: it contains a lone surrogate") from None
