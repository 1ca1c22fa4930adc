"""Decoding of discovery documents: aggregated (v2 and v2beta1) and legacy.

No I/O. Both forms are converted to the same records. Lists may be ``null`` (Go's encoding of empty slices); unknown
fields are ignored.

The aggregated form is KEP-3352; the legacy one is as old as the API.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from dynkube._server_text import word
from dynkube.discovery._resources import APIResource, ServerVersion
from dynkube.errors import ProtocolError
from dynkube.meta import GVR, GroupVersion
from dynkube.meta._json import UNREADABLE

_T = TypeVar("_T")

# v2beta1 is for Kubernetes 1.26 to 1.29. A server uses the first media type it supports; the last is the legacy form.
ACCEPT = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)

MOST_VERSIONS: Final = 10_000
"""Maximum number of versions of all groups together.

Clusters with some thousand CRDs have some hundred versions; kubectl's rate limit for discovery was raised for 300
(kubernetes/kubernetes#105520).
"""


@dataclass(frozen=True, slots=True)
class VersionDocument:
    """One version of a group.

    ``resources`` is ``None`` on legacy servers, where they are in a separate document.
    """

    version: str
    resources: tuple[APIResource, ...] | None = None
    stale: bool = False


@dataclass(frozen=True, slots=True)
class GroupDocument:
    """One group and its versions, the preferred one first."""

    name: str
    versions: tuple[VersionDocument, ...]


@dataclass(frozen=True, slots=True)
class RootDocument:
    """The decoded response of ``/api`` or ``/apis``."""

    groups: tuple[GroupDocument, ...] = ()
    aggregated: bool = False


def parse_root(body: bytes, *, path: str) -> RootDocument:
    """Decode a response of ``/api``, ``/apis`` or ``/apis/GROUP``, in any form.

    Raises:
        ProtocolError: the response is not a discovery document; the message gives its kind.
    """
    _check_number(body.count(b'"versions"'), path)  # number of groups, before the decoder holds the GIL
    root = _read_root(body, path)
    _check_number(sum(max(1, len(group.versions)) for group in root.groups), path)
    return root


def _check_number(number: int, path: str) -> None:
    if number > MOST_VERSIONS:
        raise ProtocolError(
            f"GET {path}: lists {number:,} versions of API groups, the limit is {MOST_VERSIONS:,}: "
            "this is not the Kubernetes API, check server and proxy-url"
        )


def _read_root(body: bytes, path: str) -> RootDocument:
    kind = _decode(body, _Envelope, path).kind
    match kind:
        case "APIGroupDiscoveryList":
            items = _decode(body, _AggregatedList, path).items or []
            # Only the core group has no name, and it is served at /api.
            groups = [_aggregated_group(item) for item in items if item.metadata.name or path == "/api"]
            return RootDocument(tuple(groups), aggregated=True)
        case "APIVersions":
            versions = _decode(body, _CoreVersions, path).versions or []
            return RootDocument((GroupDocument("", tuple(VersionDocument(version) for version in versions)),))
        case "APIGroupList":
            return RootDocument(tuple(_legacy_group(group) for group in _decode(body, _GroupList, path).groups or []))
        case "APIGroup":
            return RootDocument((_legacy_group(_decode(body, _Group, path)),))
    raise ProtocolError(f"GET {path}: expected a discovery document, got kind {word(kind)!r}")


def parse_resource_list(body: bytes, *, path: str, gv: GroupVersion, preferred: str) -> tuple[APIResource, ...]:
    """Decode an ``APIResourceList``, the legacy document of one group-version.

    Raises:
        ProtocolError: the response is a document of another kind.
    """
    document = _decode(body, _ResourceList, path)
    if document.kind != "APIResourceList":
        raise ProtocolError(f"GET {path}: expected an APIResourceList, got kind {word(document.kind)!r}")
    entries = document.resources or []
    subresources: dict[str, set[str]] = {}
    for entry in entries:
        parent, slash, subresource = entry.name.partition("/")
        if slash:
            subresources.setdefault(parent, set()).add(subresource)
    return _unique(
        APIResource(
            gvr=GVR(gv.group, gv.version, entry.name),
            kind=entry.kind,
            singular=entry.singular_name or entry.kind.lower(),
            namespaced=entry.namespaced,
            verbs=frozenset(entry.verbs or ()),
            short_names=tuple(entry.short_names or ()),
            categories=tuple(entry.categories or ()),
            subresources=frozenset(subresources.get(entry.name, ())),
            group_preferred_version=preferred,
        )
        for entry in entries
        if entry.name and entry.kind and "/" not in entry.name
    )


def parse_version(body: bytes, *, path: str) -> ServerVersion:
    """Decode a response of ``/version``.

    Raises:
        ProtocolError: the response has no version.
    """
    version = _decode(body, _Version, path)
    if not (version.git_version or version.major):
        raise ProtocolError(f"GET {path}: the response contains no version; is this a Kubernetes API server?")
    return ServerVersion(**msgspec.structs.asdict(version))


# ── structure of the documents ────────────────────────────────────────────────────────────────


class _Document(msgspec.Struct, gc=False, rename="camel"):
    pass


class _Envelope(_Document):
    kind: str = ""


class _Metadata(_Document):
    name: str = ""


class _ResponseKind(_Document):
    kind: str = ""


class _AggregatedSubresource(_Document):
    subresource: str = ""


class _AggregatedResource(_Document):
    resource: str = ""
    response_kind: _ResponseKind | None = None
    scope: str = ""
    singular_resource: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_AggregatedSubresource] | None = None


class _AggregatedVersion(_Document):
    version: str
    resources: list[_AggregatedResource] | None = None
    freshness: str = ""


class _AggregatedGroup(_Document):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    versions: list[_AggregatedVersion] | None = None


class _AggregatedList(_Document):
    items: list[_AggregatedGroup] | None = None


class _CoreVersions(_Document):
    versions: list[str] | None = None


class _GroupVersion(_Document):
    version: str = ""


class _Group(_Document):
    name: str
    versions: list[_GroupVersion] | None = None
    preferred_version: _GroupVersion | None = None


class _GroupList(_Document):
    groups: list[_Group] | None = None


class _LegacyResource(_Document):
    name: str = ""
    singular_name: str = ""
    namespaced: bool = False
    kind: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ResourceList(_Document):
    kind: str = ""
    resources: list[_LegacyResource] | None = None


class _Version(_Document):
    major: str = ""
    minor: str = ""
    git_version: str = ""
    git_commit: str = ""
    build_date: str = ""
    go_version: str = ""
    platform: str = ""


# ── conversion to records ─────────────────────────────────────────────────────────────────────


def _aggregated_group(item: _AggregatedGroup) -> GroupDocument:
    group, versions = item.metadata.name, item.versions or []
    preferred = versions[0].version if versions else ""
    return GroupDocument(
        group,
        tuple(
            VersionDocument(
                version.version,
                _unique(
                    _aggregated_resource(entry, GVR(group, version.version, entry.resource), preferred)
                    for entry in version.resources or ()
                    # A resource without a kind exists only as the parent of subresources (custom metrics, KubeVirt).
                    if entry.resource and entry.response_kind is not None and entry.response_kind.kind
                ),
                stale=version.freshness == "Stale",
            )
            for version in versions
        ),
    )


def _aggregated_resource(entry: _AggregatedResource, gvr: GVR, preferred: str) -> APIResource:
    kind = entry.response_kind.kind if entry.response_kind else ""
    return APIResource(
        gvr=gvr,
        kind=kind,
        singular=entry.singular_resource or kind.lower(),
        namespaced=entry.scope == "Namespaced",
        verbs=frozenset(entry.verbs or ()),
        short_names=tuple(entry.short_names or ()),
        categories=tuple(entry.categories or ()),
        subresources=frozenset(sub.subresource for sub in entry.subresources or () if sub.subresource),
        group_preferred_version=preferred,
    )


def _legacy_group(group: _Group) -> GroupDocument:
    versions = [entry.version for entry in group.versions or () if entry.version]
    preferred = group.preferred_version.version if group.preferred_version else ""
    # `sorted` is stable: the preferred version moves to the front, the others keep the server's order.
    return GroupDocument(
        group.name, tuple(VersionDocument(version) for version in sorted(versions, key=lambda v: v != preferred))
    )


def _unique(resources: Iterable[APIResource]) -> tuple[APIResource, ...]:
    """Drop entries named like an earlier one of the same group-version."""
    by_gvr: dict[GVR, APIResource] = {}
    for resource in resources:
        by_gvr.setdefault(resource.gvr, resource)
    return tuple(by_gvr.values())


def _decode(body: bytes, shape: type[_T], path: str) -> _T:
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE as error:
        start = body[:60].decode("utf-8", "replace")
        raise ProtocolError(f"GET {path}: not a discovery document ({error}); it starts with {start!r}") from error
