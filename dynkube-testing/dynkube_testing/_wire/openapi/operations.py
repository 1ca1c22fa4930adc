"""The operations of a kind on its paths.

Both versions of OpenAPI are generated from them.

Operation IDs, tags and descriptions follow kube-apiserver, since client generators name their functions after them.
Operations below the deprecated ``/watch/`` prefix are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, NamedTuple, TypeAlias

from dynkube.meta import GVK, GroupVersion
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.subresources import Subresource
from dynkube_testing._wire.openapi import parameters
from dynkube_testing._wire.openapi.naming import META, builtin_name, list_name_of, name_of
from dynkube_testing._wire.openapi.parameters import Parameter

_OBJECT_TYPES = ("application/json", "application/yaml")
_BUILTIN_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_TEXT_TYPES = ("text/plain",)
_STREAM_TYPES = ("application/json", "application/json;stream=watch", "application/yaml")
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"

_OK, _CREATED, _ACCEPTED = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The request body of an operation: the definition name and media types."""

    schema: str
    media_types: tuple[str, ...]
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method on one path.

    Attributes:
        method: In lower case, as in OpenAPI documents.
        action: ``x-kubernetes-action``; empty for discovery.
        id: ``operationId``.
        tag: The group-version, for sorting.
        description: A short description.
        gvk: The kind of the objects; ``None`` for discovery.
        parameters: Query and path parameters, by name.
        body: The request body.
        schema: The definition name of the response.
        answers: The status codes with that response.
        media_types: The media types of the response.
    """

    method: str
    action: str = ""
    id: str
    tag: str
    description: str
    gvk: GVK | None = None
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    schema: str
    answers: tuple[HTTPStatus, ...] = (_OK,)
    media_types: tuple[str, ...] = _OBJECT_TYPES

    def responses(self, shown: Mapping[str, object]) -> dict[str, object]:
        """Return the responses by status.

        ``shown`` describes the body in one version of OpenAPI.
        """
        answers = {str(status.value): {"description": status.phrase, **shown} for status in self.answers}
        return {**answers, "401": {"description": "Unauthorized"}}

    def extensions(self) -> dict[str, object]:
        """Return the ``x-kubernetes-`` extensions; empty for discovery."""
        if self.gvk is None:
            return {}
        gvk = {"group": self.gvk.group, "version": self.gvk.version, "kind": self.gvk.kind}
        return {"x-kubernetes-action": self.action, "x-kubernetes-group-version-kind": gvk}


class Path(NamedTuple):
    """A path and its operations."""

    path: str
    operations: tuple[Operation, ...]

    def common_parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters common to all operations, by name."""
        first, *others = self.operations
        return tuple(p for p in first.parameters if all(p in other.parameters for other in others))


_Reads: TypeAlias = Literal["nothing", "object", "patch", "options"]
_Shows: TypeAlias = Literal["object", "list", "status"]


class _Verb(NamedTuple):
    """Properties of all operations of one verb.

    ``description`` is a template, which is formatted with article, kind and subresource.
    """

    method: str
    action: str
    word: str
    description: str
    query: tuple[Parameter, ...]
    of_many: str = ""
    reads: _Reads = "nothing"
    shows: _Shows = "object"
    answers: tuple[HTTPStatus, ...] = (_OK,)


_ON_COLLECTION = {
    "list": _Verb("get", "list", "list", "list{watch} objects of kind {kind}", parameters.LIST, shows="list"),
    "create": _Verb(
        "post",
        "post",
        "create",
        "create {a}{kind}",
        parameters.WRITE,
        reads="object",
        answers=(_OK, _CREATED, _ACCEPTED),
    ),
    "deletecollection": _Verb(
        "delete",
        "deletecollection",
        "delete",
        "delete collection of {kind}",
        parameters.DELETE_COLLECTION,
        of_many="Collection",
        reads="options",
        shows="status",
    ),
}
_ON_OBJECT = {
    "get": _Verb("get", "get", "read", "read {of}the specified {kind}", parameters.READ),
    "update": _Verb(
        "put",
        "put",
        "replace",
        "replace {of}the specified {kind}",
        parameters.WRITE,
        reads="object",
        answers=(_OK, _CREATED),
    ),
    "delete": _Verb(
        "delete",
        "delete",
        "delete",
        "delete {a}{kind}",
        parameters.DELETE,
        reads="options",
        shows="status",
        answers=(_OK, _ACCEPTED),
    ),
    "patch": _Verb(
        "patch",
        "patch",
        "patch",
        "partially update {of}the specified {kind}",
        parameters.PATCH,
        reads="patch",
        answers=(_OK, _CREATED),
    ),
}
_ON_SUBRESOURCE = {
    **_ON_OBJECT,
    "create": _ON_COLLECTION["create"]._replace(description="create {of}{a}{kind}"),
}
# Subresources that connect to a kubelet. They have an operation for each HTTP method instead of each verb.
_CONNECT = {
    name: _Verb(
        method, "connect", "connect", "connect " + method.upper() + " requests to {of}{kind}", (), method.title()
    )
    for name, method in (
        ("get", "get"),
        ("create", "post"),
        ("update", "put"),
        ("patch", "patch"),
        ("delete", "delete"),
    )
}


# ── kinds ─────────────────────────────────────────────────────────────────────────────────────


def paths_of_version(gv: GroupVersion, kinds: Collection[Kind]) -> Iterator[Path]:
    """Return the OpenAPI paths of the group-version ``gv``, which serves ``kinds``."""
    if any(kind.crd_uid is None for kind in kinds):
        yield _resources_path(gv)
    for kind in kinds:
        yield from paths_of(kind)


def paths_of(kind: Kind) -> Iterator[Path]:
    """Return the paths at which a kind is served."""
    root = f"/{prefix(kind.gvr.group_version)}"
    collection = f"{root}/{kind.gvr.resource}"
    if kind.namespaced:
        if "list" in kind.verbs:
            yield Path(collection, (_operation(kind, _ON_COLLECTION["list"], everywhere=True),))
        collection = f"{root}/namespaces/{{namespace}}/{kind.gvr.resource}"
    for path, verbs in ((collection, _ON_COLLECTION), (f"{collection}/{{name}}", _ON_OBJECT)):
        operations = tuple(
            _operation(kind, verb, named=verbs is _ON_OBJECT) for name, verb in verbs.items() if name in kind.verbs
        )
        if operations:
            yield Path(path, operations)
    for name in kind.subresources:
        subresource = kind.subresource(name)
        assert subresource is not None
        table = _CONNECT if subresource.connects and name != "log" else _ON_SUBRESOURCE
        operations = tuple(
            _operation(kind, table[verb], named=True, subresource=subresource) for verb in subresource.verbs
        )
        yield Path(f"{collection}/{{name}}/{name}", operations)


def _operation(
    kind: Kind, verb: _Verb, *, named: bool = False, everywhere: bool = False, subresource: Subresource | None = None
) -> Operation:
    gv = kind.gvr.group_version
    namespaced = kind.namespaced and not everywhere
    shown = _shown(kind, verb.shows, subresource)
    subject = _subject(kind, verb, subresource, everywhere)
    return Operation(
        method=verb.method,
        action=verb.action,
        id=f"{verb.word}{_camel(gv.group or 'core')}{_camel(gv.version)}{subject}",
        tag=_tag(gv),
        description=_words(kind, verb, subresource),
        # As in kube-apiserver, custom resources have their own kind here even for the scale subresource.
        gvk=subresource.gvk if subresource is not None and kind.crd_uid is None else kind.gvk,
        parameters=_parameters(kind, verb, named=named, namespaced=namespaced),
        body=_body(kind, verb.reads, shown),
        schema=shown,
        answers=verb.answers,
        media_types=_STREAM_TYPES if verb.shows == "list" else _OBJECT_TYPES if shown else _TEXT_TYPES,
    )


def _subject(kind: Kind, verb: _Verb, subresource: Subresource | None, everywhere: bool) -> str:
    scope = "Namespaced" if kind.namespaced and not everywhere else ""
    part = subresource.name.capitalize() if subresource is not None else ""
    return f"{verb.of_many}{scope}{kind.kind}{part}{'ForAllNamespaces' if everywhere else ''}"


def _parameters(kind: Kind, verb: _Verb, *, named: bool, namespaced: bool) -> tuple[Parameter, ...]:
    in_path = (parameters.name_of_object(kind.kind),) if named else ()
    namespace = (parameters.NAMESPACE,) if namespaced else ()
    return tuple(sorted((*verb.query, *in_path, *namespace, parameters.PRETTY)))


def _shown(kind: Kind, shows: _Shows, subresource: Subresource | None) -> str:
    """Return the definition name of the response; ``""`` for plain text."""
    if shows == "list":
        return list_name_of(kind)
    if shows == "status":
        return f"{META}.Status"
    if subresource is None:
        return name_of(kind)
    if subresource.connects:
        return ""
    return name_of(kind) if subresource.gvk == kind.gvk else builtin_name(subresource.gvk)


def _words(kind: Kind, verb: _Verb, subresource: Subresource | None) -> str:
    plural = kind.kind.endswith("s") and not kind.kind.endswith("ss")
    article = "" if plural else "an " if kind.kind[0] in "AEIOU" else "a "
    name = subresource.name if subresource is not None else ""
    of = f"{name} of " if name else ""
    watch = "" if kind.crd_uid else " or watch"
    return verb.description.format(a=article, of=of, watch=watch, kind=kind.kind)


def _body(kind: Kind, reads: _Reads, shown: str) -> Body | None:
    custom = kind.crd_uid is not None
    match reads:
        case "object":
            return Body(schema=shown, media_types=_OBJECT_TYPES if custom else _BUILTIN_TYPES, required=True)
        case "patch":
            types = _PATCH_TYPES if custom else (*_PATCH_TYPES, _STRATEGIC)
            return Body(schema=f"{META}.Patch", media_types=types, required=True)
        case "options":
            return Body(schema=f"{META}.DeleteOptions", media_types=_OBJECT_TYPES, required=False)
    return None


# ── discovery ─────────────────────────────────────────────────────────────────────────────────


def _resources_path(gv: GroupVersion) -> Path:
    """Return the discovery path of a built-in group-version.

    It lists the resources.
    """
    description = "get available resources"
    return _discovery(
        f"/{prefix(gv)}/", f"get{_camel(gv.group or 'core')}{_camel(gv.version)}", "APIResources", description
    )


def group_path(group: str) -> Path:
    """Return the discovery path of a built-in group, which lists its versions.

    It is ``/api`` for the core group.
    """
    if not group:
        return _discovery("/api/", "getCore", "APIVersions", "get available API versions")
    return _discovery(f"/apis/{group}/", f"get{_camel(group)}", "APIGroup", "get information of a group")


def groups_path() -> Path:
    """Return the path ``/apis``, which lists all groups."""
    return _discovery("/apis/", "get", "APIVersions", "get available API versions")


def version_path() -> Path:
    """Return the path ``/version``."""
    return _discovery("/version/", "get", "CodeVersion", "get the version information for this server")


_SHOWN = {"APIResources": f"{META}.APIResourceList"}


def _discovery(path: str, beginning: str, end: str, description: str) -> Path:
    first, _, rest = path.strip("/").partition("/")
    group, _, version = rest.partition("/")
    in_group = _tag(GroupVersion(group, version)) if group else first
    tag = f"core_{rest}".removesuffix("_") if first == "api" else in_group
    operation = Operation(
        method="get", id=f"{beginning}{end}", tag=tag, description=description, schema=_SHOWN.get(end, "")
    )
    return Path(path, (operation,))


def prefix(gv: GroupVersion) -> str:
    """Return the path of a group-version: ``api/v1``, ``apis/apps/v1``."""
    return f"apis/{gv}" if gv.group else f"api/{gv}"


def _tag(gv: GroupVersion) -> str:
    group = _camel(gv.group or "core")
    return f"{group[:1].lower()}{group[1:]}_{gv.version}".removesuffix("_")


def _camel(text: str) -> str:
    """Convert a group to camel case, like ``RbacAuthorization``.

    The group of this example is ``rbac.authorization.k8s.io``.
    """
    parts = re.split(r"[^0-9A-Za-z_]+", text.removesuffix(".k8s.io"))
    return "".join(part[:1].upper() + part[1:] for part in parts)
