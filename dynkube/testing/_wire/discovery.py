"""Discovery documents computed from the registry: aggregated (KEP-3352) and legacy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec

from dynkube.meta import GVK, GroupVersion, version_priority
from dynkube.testing._kinds.kinds import Kind, Registry

Document: TypeAlias = dict[str, object]

_SCALE = GVK("autoscaling", "v1", "Scale")
_SUBRESOURCE_VERBS = ["get", "patch", "update"]


class Discovery:
    """Documents for one registry, and which group-versions are out of order.

    Args:
        registry: What is served.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._unavailable: frozenset[GroupVersion] = frozenset()
        self._cache: dict[str, tuple[tuple[int, frozenset[GroupVersion]], bytes, str]] = {}

    @property
    def unavailable(self) -> frozenset[GroupVersion]:
        """Group-versions whose (imagined) server does not answer: 503, and stale in discovery."""
        return self._unavailable

    def set_available(self, group_version: GroupVersion, available: bool) -> None:
        """Take a group-version out of order, or back into it."""
        one = frozenset({group_version})
        self._unavailable = self._unavailable - one if available else self._unavailable | one

    # ── aggregated ────────────────────────────────────────────────────────────────────────

    def aggregated_core(self) -> tuple[bytes, str]:
        """``/api`` in the aggregated form (v2), and its ETag."""
        return self._cached("/api", lambda: _aggregated_list([self._aggregated_group("")]))

    def aggregated_groups(self) -> tuple[bytes, str]:
        """``/apis`` in the aggregated form (v2), and its ETag."""
        return self._cached("/apis", lambda: _aggregated_list(map(self._aggregated_group, self._groups())))

    def _aggregated_group(self, group: str) -> Document:
        versions = [self._aggregated_version(gv) for gv in self._versions(group)]
        metadata: Document = {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None}
        return {"metadata": metadata, "versions": versions}

    def _aggregated_version(self, gv: GroupVersion) -> Document:
        if gv in self._unavailable:
            return {"version": gv.version, "freshness": "Stale"}
        resources = [_aggregated_resource(kind) for kind in self._kinds(gv)]
        return {"version": gv.version, "resources": resources, "freshness": "Current"}

    def _cached(self, key: str, build: Callable[[], Document]) -> tuple[bytes, str]:
        state = (self._registry.revision, self._unavailable)
        held = self._cache.get(key)
        if held is None or held[0] != state:
            body = msgspec.json.encode(build())
            # As in kube-apiserver the tag is a hash of the content, so it survives restarts and no-op changes.
            held = self._cache[key] = (state, body, f'"{hashlib.sha512(body).hexdigest().upper()}"')
        return held[1], held[2]

    # ── legacy ────────────────────────────────────────────────────────────────────────────

    def legacy_core(self, address: str) -> Document:
        """``/api``: the versions of the core group."""
        return {
            "kind": "APIVersions",
            "versions": [gv.version for gv in self._versions("")],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def legacy_groups(self) -> Document:
        """``/apis``: every named group and its versions."""
        groups = [_legacy_group(group, self._versions(group)) for group in self._groups()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def legacy_group(self, group: str) -> Document | None:
        """``/apis/GROUP``; ``None`` where nothing of it is served."""
        versions = self._versions(group)
        if not versions:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **_legacy_group(group, versions)}

    def legacy_resources(self, gv: GroupVersion) -> Document | None:
        """``/apis/GROUP/VERSION`` or ``/api/v1``; ``None`` where it is not served."""
        if gv not in self._versions(gv.group):
            return None
        resources = [entry for kind in self._kinds(gv) for entry in _legacy_resources(kind)]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": str(gv), "resources": resources}

    # ── the registry, grouped ─────────────────────────────────────────────────────────────

    def group_versions(self) -> tuple[GroupVersion, ...]:
        """Every group-version served, core first, best version of each group first."""
        return tuple(gv for group in ("", *self._groups()) for gv in self._versions(group))

    def _groups(self) -> list[str]:
        # Groups of CRDs come behind the built-in ones and in alphabetical order, as their APIServices sort.
        builtin: dict[str, None] = {}
        custom: set[str] = set()
        for kind in self._listed():
            group = kind.gvr.group
            if kind.crd_uid is None:
                builtin.setdefault(group)
            else:
                custom.add(group)
        builtin.pop("", None)
        return [*builtin, *sorted(custom - builtin.keys())]

    def _versions(self, group: str) -> list[GroupVersion]:
        versions = {kind.gvr.version for kind in self._listed() if kind.gvr.group == group}
        return [GroupVersion(group, version) for version in sorted(versions, key=version_priority)]

    def _kinds(self, gv: GroupVersion) -> list[Kind]:
        kinds = [kind for kind in self._listed() if kind.gvr.group_version == gv]
        return sorted(kinds, key=lambda kind: kind.gvr.resource)

    def _listed(self) -> Iterator[Kind]:
        return (kind for kind in self._registry if kind.listed)


def _aggregated_list(groups: Iterable[Document]) -> Document:
    items = [group for group in groups if group["versions"]]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_resource(kind: Kind) -> Document:
    entry: Document = {
        "resource": kind.gvr.resource,
        "responseKind": _response_kind(GVK(kind.gvr.group, kind.gvr.version, kind.kind)),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
        "shortNames": list(kind.short_names),
        "categories": list(kind.categories),
        "subresources": [
            {
                "subresource": name,
                "responseKind": _response_kind(_subresource_kind(kind, name)),
                "verbs": _SUBRESOURCE_VERBS,
            }
            for name in kind.subresources
        ],
    }
    return {key: value for key, value in entry.items() if value != []}


def _response_kind(gvk: GVK) -> Document:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _subresource_kind(kind: Kind, subresource: str) -> GVK:
    return _SCALE if subresource == "scale" else GVK(kind.gvr.group, kind.gvr.version, kind.kind)


def _legacy_group(group: str, versions: list[GroupVersion]) -> Document:
    entries = [{"groupVersion": str(gv), "version": gv.version} for gv in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _legacy_resources(kind: Kind) -> Iterator[Document]:
    entry: Document = {
        "name": kind.gvr.resource,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    yield entry
    for name in kind.subresources:
        other = {"group": _SCALE.group, "version": _SCALE.version, "kind": _SCALE.kind} if name == "scale" else None
        yield {
            "name": f"{kind.gvr.resource}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            **(other or {"kind": kind.kind}),
            "verbs": _SUBRESOURCE_VERBS,
        }
