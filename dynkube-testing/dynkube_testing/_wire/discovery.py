"""Discovery documents of the served kinds: aggregated (KEP-3352) and legacy.

Peculiarities of kube-apiserver 1.36 are imitated, since clients must handle them:

- In the aggregated form, ``responseKind`` of a built-in kind has no group and version if they are the same as those of
  the enclosing document.
- The legacy list of the core group's versions or resources has no apiVersion.
- The verbs of custom resources are not sorted.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from dynkube.meta import GVK, GroupVersion
from dynkube.meta._gvr import version_priority
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._kinds.subresources import Subresource, subresource_of

Document: TypeAlias = dict[str, object]

_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
# The verbs that are removed from the list once the CRD is being deleted.
_WRITING_VERBS = frozenset({"create", "patch", "update"})


class Discovery:
    """Discovery documents for one registry, and the set of unavailable group-versions.

    Args:
        registry: The served kinds.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._cache: dict[str, tuple[int, bytes, str]] = {}
        self._grouped: _Served | None = None

    @property
    def unavailable(self) -> frozenset[GroupVersion]:
        """Group-versions whose (simulated) aggregated server does not respond.

        Requests to them get 503, and discovery reports them as ``Stale``.
        """
        return self._registry.unavailable

    # ── aggregated ────────────────────────────────────────────────────────────────────────

    def aggregated_core(self) -> tuple[bytes, str]:
        """Return the document for ``/api`` in the aggregated form (v2), and its ETag."""
        return self._cached("/api", lambda: _aggregated_list([self._aggregated_group("")]))

    def aggregated_groups(self) -> tuple[bytes, str]:
        """Return the document for ``/apis`` in the aggregated form (v2), and its ETag."""
        return self._cached("/apis", lambda: _aggregated_list(map(self._aggregated_group, self.groups())))

    def _aggregated_group(self, group: str) -> Document:
        versions = [self._aggregated_version(gv) for gv in self._served().versions.get(group, ())]
        return {"metadata": {"name": group} if group else {}, "versions": versions}

    def _aggregated_version(self, gv: GroupVersion) -> Document:
        if gv in self._registry.unavailable:
            return {"version": gv.version, "freshness": "Stale"}
        resources = [_aggregated_resource(kind) for kind in self.kinds(gv)]
        return {"version": gv.version, "resources": resources, "freshness": "Current"}

    def _cached(self, key: str, build: Callable[[], Document]) -> tuple[bytes, str]:
        state = self._registry.revision
        held = self._cache.get(key)
        if held is None or held[0] != state:
            body = msgspec.json.encode(build())
            # As in kube-apiserver, the ETag is a hash of the content, so equal documents have equal ETags, even after a
            # restart.
            held = self._cache[key] = (state, body, f'"{hashlib.sha512(body).hexdigest().upper()}"')
        return held[1], held[2]

    # ── legacy ────────────────────────────────────────────────────────────────────────────

    def legacy_core(self, address: str) -> Document:
        """Return the document for ``/api``: the versions of the core group."""
        return {
            "kind": "APIVersions",
            "versions": [gv.version for gv in self._served().versions.get("", ())],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def legacy_groups(self) -> Document:
        """Return the document for ``/apis``: every named group and its versions."""
        served = self._served()
        groups = [_legacy_group(group, served.versions[group]) for group in served.groups]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def legacy_group(self, group: str) -> Document | None:
        """Return the document for ``/apis/GROUP``; ``None`` if the group is not served."""
        versions = self._served().versions.get(group)
        if not versions:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **_legacy_group(group, versions)}

    def legacy_resources(self, gv: GroupVersion) -> Document | None:
        """Return the document for ``/apis/GROUP/VERSION`` or ``/api/v1``.

        ``None`` if the group-version is not served.
        """
        kinds = self.kinds(gv)
        if not kinds:
            return None
        resources = [entry for kind in kinds for entry in _legacy_resources(kind)]
        api_version = {"apiVersion": "v1"} if gv.group else {}
        return {"kind": "APIResourceList", **api_version, "groupVersion": str(gv), "resources": resources}

    # ── the registry, grouped ─────────────────────────────────────────────────────────────

    def group_versions(self) -> tuple[GroupVersion, ...]:
        """Return every served group-version, by priority.

        The core group comes first, and in each group the preferred version.
        """
        served = self._served()
        return tuple(gv for group in ("", *served.groups) for gv in served.versions.get(group, ()))

    def groups(self) -> tuple[str, ...]:
        """Return every served group except the core group, by priority."""
        return self._served().groups

    def is_builtin(self, group: str) -> bool:
        """Return whether the group has a kind that no CRD defines."""
        return any(
            kind.crd_uid is None for gv in self._served().versions.get(group, ()) for kind in self._served().kinds[gv]
        )

    def kinds(self, gv: GroupVersion) -> tuple[Kind, ...]:
        """Return the kinds that discovery lists for a group-version, sorted by resource."""
        return self._served().kinds.get(gv, ())

    def _served(self) -> _Served:
        if self._grouped is None or self._grouped.revision != self._registry.revision:
            self._grouped = _group(self._registry)
        return self._grouped


class _Served(NamedTuple):
    """The listed kinds of the registry at one revision, grouped."""

    revision: int
    groups: tuple[str, ...]
    versions: Mapping[str, tuple[GroupVersion, ...]]
    kinds: Mapping[GroupVersion, tuple[Kind, ...]]


def _group(registry: Registry) -> _Served:
    kinds: dict[GroupVersion, list[Kind]] = {}
    # The groups of CRDs come after the built-in ones, in alphabetical order: the order of their APIServices.
    builtin: dict[str, None] = {}
    custom: set[str] = set()
    for kind in registry:
        if not kind.listed:
            continue
        kinds.setdefault(kind.gvr.group_version, []).append(kind)
        if kind.crd_uid is not None:
            custom.add(kind.gvr.group)
        elif kind.gvr.group:
            builtin.setdefault(kind.gvr.group)
    for gv in registry.unavailable:
        # Listed because it has an APIService, even if its resources were never known.
        kinds.setdefault(gv, [])
        custom.add(gv.group)
    versions: dict[str, list[GroupVersion]] = {}
    for gv in sorted(kinds, key=lambda gv: version_priority(gv.version)):
        versions.setdefault(gv.group, []).append(gv)
    return _Served(
        revision=registry.revision,
        groups=(*builtin, *sorted(custom - builtin.keys())),
        versions={group: tuple(gvs) for group, gvs in versions.items()},
        kinds={gv: tuple(sorted(found, key=lambda kind: kind.gvr.resource)) for gv, found in kinds.items()},
    )


# ── entries ───────────────────────────────────────────────────────────────────────────────────


def _aggregated_list(groups: Iterable[Document]) -> Document:
    items = [group for group in groups if group["versions"]]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_resource(kind: Kind) -> Document:
    entry: Document = {
        "resource": kind.gvr.resource,
        "responseKind": _response_kind(kind, kind.gvk),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
        "shortNames": list(kind.short_names),
        "categories": list(kind.categories),
        "subresources": [
            {
                "subresource": subresource.name,
                "responseKind": _response_kind(kind, subresource.gvk),
                "verbs": list(subresource.verbs),
            }
            for subresource in _subresources(kind)
        ],
    }
    return {key: value for key, value in entry.items() if value != []}


def _response_kind(kind: Kind, gvk: GVK) -> Document:
    if kind.crd_uid is None and (gvk.group, gvk.version) == (kind.gvr.group, kind.gvr.version):
        return {"group": "", "version": "", "kind": gvk.kind}
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _subresources(kind: Kind) -> list[Subresource]:
    names = sorted(kind.subresources, reverse=kind.crd_uid is not None)
    return [subresource_of(kind.gvk, name) for name in names]


def _verbs(kind: Kind) -> list[str]:
    if kind.crd_uid is None:
        return list(kind.verbs)
    return [verb for verb in _CUSTOM_VERBS if not (kind.terminating and verb in _WRITING_VERBS)]


def _legacy_group(group: str, versions: tuple[GroupVersion, ...]) -> Document:
    entries = [{"groupVersion": str(gv), "version": gv.version} for gv in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _legacy_resources(kind: Kind) -> Iterator[Document]:
    entry: Document = {
        "name": kind.gvr.resource,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if {"create", "get"} <= set(kind.verbs):
        entry["storageVersionHash"] = _storage_version_hash(kind.stored_as or kind.gvk)
    yield entry
    for subresource in _subresources(kind):
        answered = subresource.gvk
        yield {
            "name": f"{kind.gvr.resource}/{subresource.name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            **({"group": answered.group, "version": answered.version} if subresource.foreign else {}),
            "kind": answered.kind,
            "verbs": list(subresource.verbs),
        }


def _storage_version_hash(gvk: GVK) -> str:
    """Return ``storageVersionHash``, computed as in kube-apiserver.

    Clients that migrate stored objects compare it to find out whether the storage version has changed.
    """
    digest = hashlib.sha256(f"{gvk.group}/{gvk.version}/{gvk.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode("ascii")
