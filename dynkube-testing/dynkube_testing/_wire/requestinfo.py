"""Attributes of a request for faults and authorization, parsed before routing.

A real server authorizes a request before it routes it. So a client without permissions gets 403 even for a path that
does not exist, and cannot find out which paths exist. Therefore paths are parsed more leniently here than by routing.
"""

from __future__ import annotations

from dataclasses import replace

from dynkube_testing._access.attributes import Attributes
from dynkube_testing._calls.users import User
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.routes import NAMESPACE_SUBRESOURCES, ResourcePath, asked_verb

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMED = "metadata.name"


def facts_of(request: HTTPRequest) -> RequestFacts:
    """Return the attributes of ``request`` by which faults select requests."""
    path = ResourcePath.parse(request.segments)
    facts = RequestFacts(method=request.method, path=request.path, params=request.params, headers=request.headers)
    if path is None:
        return facts
    return replace(
        facts,
        verb=asked_verb(request, path) or "",
        resource=path.gvr,
        namespace=path.namespace,
        name=path.name,
        subresource=path.subresource,
    )


def attributes_of(request: HTTPRequest, user: User) -> Attributes:
    """Return the authorization attributes of ``request``, sent by ``user``."""
    match request.path.strip("/").split("/"):
        case ["api", _, first, *rest]:
            group = ""
        case ["apis", group, _, first, *rest]:
            pass
        case _:
            return Attributes(user=user, verb=request.method.lower(), path=request.path)
    verb = _VERBS.get(request.method, "")
    if first == "watch" and rest:
        # The deprecated paths for watches, /api/v1/watch/..., which servers still support.
        verb, first, *rest = "watch", *rest
    namespace, parts = _place(first, rest)
    resource, name, subresource = (*parts, "", "")[:3]
    if not name:
        name = _named_by_selector(request) if verb == "get" else ""
        verb = {"get": "watch" if request.flag("watch") else "list", "delete": "deletecollection"}.get(verb, verb)
    return Attributes(
        user=user,
        verb=verb,
        group=group,
        resource=resource,
        subresource=subresource,
        name=name,
        namespace=namespace,
    )


def _place(first: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return the namespace or ``""``, and the path's parts from the resource on."""
    if first != "namespaces" or not rest:
        return "", [first, *rest]
    # For authorization, the namespace of a Namespace object is the object's name, so a Role in it can grant access.
    inside = len(rest) > 1 and rest[1] not in NAMESPACE_SUBRESOURCES
    return rest[0], rest[1:] if inside else [first, *rest]


def _named_by_selector(request: HTTPRequest) -> str:
    """Return the name in ``fieldSelector=metadata.name=x``, else ``""``.

    RBAC rules with ``resourceNames`` allow a list or watch that is restricted to one of the names.
    """
    for term in request.params.get("fieldSelector", "").split(","):
        field, _, value = term.replace("==", "=", 1).partition("=")
        if field.strip() == _NAMED and value and "/" not in value and value not in {".", ".."}:
            return value
    return ""
