"""Paths: which kind, namespace, name and subresource a request means, and which verb its method asks for."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube.meta import GVR
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Verb
from dynkube.testing._kinds import naming
from dynkube.testing._kinds.kinds import Kind, Registry
from dynkube.testing._kinds.subresources import Subresource
from dynkube.testing._wire import refusals
from dynkube.testing._wire.http import HTTPRequest

_WRITES: dict[str, Verb] = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_COLLECTION_VERBS: dict[str, Verb] = {"GET": "list", **_WRITES, "DELETE": "deletecollection"}
_ITEM_VERBS: dict[str, Verb] = {"GET": "get", **_WRITES, "DELETE": "delete"}

_READS: set[Verb | None] = {"get", "list", "watch"}

# The only subresources a namespace has; every other third part of its path is a resource inside it.
NAMESPACE_SUBRESOURCES = {"status", "finalize"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a path of the resource API leads."""

    kind: Kind
    verb: Verb
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePath:
    """A path of the resource API, taken apart and not yet looked up.

    ``old_watch`` says that it is one of ``/api/v1/watch/...``: how watches were asked for before there was a parameter,
    which servers still understand.
    """

    gvr: GVR
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False

    @classmethod
    def parse(cls, segments: tuple[str, ...]) -> ResourcePath | None:
        """Take ``/api/v1/...`` or ``/apis/GROUP/VERSION/...`` apart; ``None`` where the path is neither."""
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
        # The rest of a proxy's path is for whom it leads to; any other subresource ends the path. An empty part
        # before it stays, so that it leads nowhere: authorization reads "pods/x//exec" as about the pod alone.
        subresource = "proxy" if rest[0] == "proxy" else "/".join(rest).rstrip("/")
        gvr = GVR(group, version, resource)
        return cls(gvr=gvr, namespace=namespace, name=name, subresource=subresource, old_watch=old_watch)


def _is_namespace_itself(group: str, rest: list[str]) -> bool:
    return group == "" and len(rest) == 2 and rest[1] in NAMESPACE_SUBRESOURCES


def asked_verb(request: HTTPRequest, path: ResourcePath) -> Verb | None:
    """What the method asks for on such a path, served or not; ``None`` for a method that no such path takes."""
    method = "GET" if request.method == "HEAD" else request.method
    if path.old_watch:
        return "watch" if method == "GET" else None
    verb = (_ITEM_VERBS if path.name else _COLLECTION_VERBS).get(method)
    return "watch" if verb == "list" and request.flag("watch") else verb


def route(path: ResourcePath, verb: Verb | None, registry: Registry) -> Target:
    """Look ``path`` up in what is served now.

    Raises:
        APIError: 404 where the server has no such resource, subresource or scope; 405 where it does not take
            the method.
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
        verb = "watch"  # whatever the method: nobody looks at it there
    if path.subresource and subresource is None:
        raise refuse.not_found(kind, path.name) if custom else refusals.unknown_path()
    named = _check_verb(path, verb, kind, subresource)
    assert verb is not None, "it was refused"
    if path.name and (problem := naming.path_segment_problem(path.name)):
        raise refuse.bad_request(f'Name parameter invalid: "{path.name}": {problem}')
    return Target(
        kind=kind,
        verb=verb,
        namespace=path.namespace,
        name=path.name if named else "",
        subresource=path.subresource,
        old_watch=path.old_watch,
    )


def _check_verb(path: ResourcePath, verb: Verb | None, kind: Kind, subresource: Subresource | None) -> bool:
    """Refuse verbs that mean nothing there; whether the name in the path is that of the object meant."""
    custom = kind.crd_uid is not None
    # These need to know the namespace; there is no such route on the collection of all namespaces.
    homeless = verb not in _READS and not subresource and kind.namespaced and not path.namespace
    if homeless and custom and verb is not None:
        raise refusals.unknown_path(builtin=False)
    if custom and verb is None:
        raise refuse.verb_not_supported(kind, "")
    # Updates are of objects and creates of collections; only custom resources are not that particular.
    misplaced = not subresource and verb in ({"create"} if path.name else {"update", "patch"})
    if custom and misplaced and not path.name:
        raise refuse.bad_request("name must be provided")
    allowed = subresource.verbs if subresource else kind.verbs
    if verb is None or homeless or verb not in allowed or (misplaced and not custom):
        raise refusals.method_not_allowed()
    return not misplaced
