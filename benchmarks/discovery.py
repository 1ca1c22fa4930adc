"""The discovery documents of the byte server: namespaces, CRDs and one custom resource, in both forms."""

from __future__ import annotations

from typing import Final

import msgspec

from benchmarks import objects

_VERBS: Final = ["delete", "get", "list", "watch"]
_AGGREGATED: Final = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_RESOURCES: Final = {
    ("", "v1"): ("namespaces", "Namespace", False),
    ("apiextensions.k8s.io", "v1"): ("customresourcedefinitions", "CustomResourceDefinition", False),
    (objects.GROUP, objects.VERSION): (objects.PLURAL, objects.KIND, True),
}


def document(path: str, *, aggregated: bool) -> bytes | None:
    """Return the document at ``path``, or ``None`` if the path does not exist."""
    found = _aggregated(path) if aggregated and path in ("/api", "/apis") else _legacy(path)
    return None if found is None else msgspec.json.encode(found)


def content_type(document: bytes) -> bytes:
    """Return the Content-Type of a document, by which clients distinguish the two forms."""
    return _AGGREGATED if b'"kind":"APIGroupDiscoveryList"' in document else b"application/json"


def _aggregated(path: str) -> dict[str, object]:
    groups = [
        {"metadata": {"name": group}, "versions": [{"version": version, "freshness": "Current", "resources": [
            {
                "resource": plural,
                "responseKind": {"group": group, "version": version, "kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
                "singularResource": kind.lower(),
                "verbs": _VERBS,
            }
        ]}]}
        for (group, version), (plural, kind, namespaced) in _RESOURCES.items()
        if (path == "/api") == (group == "")
    ]  # fmt: skip  # the structure of the document stays visible
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": groups}


def _legacy(path: str) -> dict[str, object] | None:
    if path == "/version":
        return {"major": "1", "minor": "37", "gitVersion": "v1.37.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*gv) for gv in _RESOURCES if gv[0]]}
    for (group, version), (plural, kind, namespaced) in _RESOURCES.items():
        if path == (f"/apis/{group}/{version}" if group else f"/api/{version}"):
            resource = {
                "name": plural,
                "singularName": kind.lower(),
                "namespaced": namespaced,
                "kind": kind,
                "verbs": _VERBS,
            }
            name = f"{group}/{version}" if group else version
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": [resource]}
        if group and path == f"/apis/{group}":
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, version)}
    return None


def _group(group: str, version: str) -> dict[str, object]:
    served = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [served], "preferredVersion": served}
