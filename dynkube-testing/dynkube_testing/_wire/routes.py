"""Routing: find kind, verb, namespace and name by path and method."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube.meta import GVR
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, Verb
from dynkube_testing._kinds import naming
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._kinds.subresources import Subresource
from dynkube_testing._wire import refusals
from dynkube_testing._wire.http import HTTPRequest

_WRITES: dict[str, Verb] = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_COLLECTION_VERBS: dict[str, Verb] = {"GET": "list", **_WRITES, "DELETE": "deletecollection"}
_ITEM_VERBS: dict[str, Verb] = {"GET": "get", **_WRITES, "DELETE": "delete"}

_READS: set[Verb | None] = {"get", "list", "watch"}

# The subresources of namespaces. In /api/v1/namespaces/NAME/X, any other X is a resource in the namespace.
NAMESPACE_SUBRESOURCES = {"status", "finalize"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePath:
    """A parsed path of the resource API; whether it is served is not checked.

    ``old_watch`` is true for the deprecated paths ``/api/v1/watch/...``, which are older than the ``watch`` parameter
    and still supported by servers.
    """

    gvr: GVR
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False

    @classmethod
    def parse(cls, segments: tuple[str, ...]) -> ResourcePath | None:
        """Parse a path, given as its segments.

        ``None`` if it is neither ``/api/v1/...`` nor ``/apis/GROUP/VERSION/...``.
        """
        match segments:
            case ["api", version, first, *rest]:
                group = ""
            case ["apis", group, version, first, *rest] if group:
                pass
            case _:
                return None
        old_watch = first == "watch" and bool(rest)
        if old_watch:
            first, *rest = rest
        parts = [first, *rest]
        if not (version and first):
            return None
        namespace = ""
        if first == "namespaces" and len(rest) >= 2 and not _is_namespace_itself(group, rest):
            namespace, *parts = rest
        resource, name, *rest = (*parts, "", "") if len(parts) < 3 else parts
        # What follows "proxy" is a path of the proxy's target. For other subresources the rest is kept as it is, even
        # with empty parts, so that routing fails: authorization takes "pods/x//exec" for a request to the pod itself.
        subresource = "proxy" if rest[0] == "proxy" else "/".join(rest).rstrip("/")
        gvr = GVR(group, version, resource)
        return cls(gvr=gvr, namespace=namespace, name=name, subresource=subresource, old_watch=old_watch)


def _is_namespace_itself(group: str, rest: list[str]) -> bool:
    return group == "" and len(rest) == 2 and rest[1] in NAMESPACE_SUBRESOURCES


def asked_verb(request: HTTPRequest, path: ResourcePath) -> Verb | None:
    """Return the verb of ``request`` on ``path``; ``None`` if there is none.

    Whether the path is served and supports the verb is not checked.
    """
    method = "GET" if request.method == "HEAD" else request.method
    if path.old_watch:
        return "watch" if method == "GET" else None
    verb = (_ITEM_VERBS if path.name else _COLLECTION_VERBS).get(method)
    return "watch" if verb == "list" and request.flag("watch") else verb


def route(path: ResourcePath, verb: Verb | None, registry: Registry) -> Call:
    """Look up ``path`` in the kinds that are served now; return the call without parameters and user.

    Raises:
        APIError: 404 if the resource or subresource is not served, or not with or without a namespace as in the path;
            405 if it does not support the verb; 400 for an invalid or missing name.
    """
    kind = registry.get(path.gvr)
    if kind is None:
        raise refusals.unknown_path(builtin=any(other.crd_uid is None for other in registry.of_group(path.gvr.group)))
    custom = kind.crd_uid is not None
    if (path.namespace and not kind.namespaced) or (path.name and kind.namespaced and not path.namespace):
        raise refusals.unknown_path(builtin=not custom)
    subresource = None if path.old_watch else kind.subresource(path.subresource)
    if path.old_watch and "watch" not in kind.verbs:
        raise refusals.unknown_path()
    if path.old_watch and custom:
        verb = "watch"  # the real server ignores the method on these paths
    if path.subresource and subresource is None:
        raise refuse.not_found(kind, path.name) if custom else refusals.unknown_path()
    named = _check_verb(path, verb, kind, subresource)
    assert verb is not None, "it was refused"
    if path.name and (problem := naming.path_segment_problem(path.name)):
        raise refuse.bad_request(f'Name parameter invalid: "{path.name}": {problem}')
    return Call(
        kind=kind,
        verb=verb,
        namespace=path.namespace,
        name=path.name if named else "",
        subresource=path.subresource,
        old_watch=path.old_watch,
    )


def _check_verb(path: ResourcePath, verb: Verb | None, kind: Kind, subresource: Subresource | None) -> bool:
    """Check that the verb is supported on the path.

    Returns whether the name in the path is the name of the requested object. It is not for a create of a custom
    resource, which accepts a path with a name and ignores the name.
    """
    custom = kind.crd_uid is not None
    # Writes of namespaced objects need a namespace in the path.
    homeless = verb not in _READS and not subresource and kind.namespaced and not path.namespace
    if homeless and custom and verb is not None:
        raise refusals.unknown_path(builtin=False)
    if custom and verb is None:
        raise refuse.verb_not_supported(kind, "")
    # A create needs a path without a name, update and patch a path with one. For custom resources, the real server
    # accepts a create on a path with a name.
    misplaced = not subresource and verb in ({"create"} if path.name else {"update", "patch"})
    if custom and misplaced and not path.name:
        raise refuse.bad_request("name must be provided")
    allowed = subresource.verbs if subresource else kind.verbs
    if verb is None or homeless or verb not in allowed or (misplaced and not custom):
        raise refuse.method_not_allowed()
    return not misplaced
