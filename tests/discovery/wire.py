"""The discovery of a server, as documents that the tests let a client read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from hashlib import sha256

import httpx2
import trio

from dynkube.config import ClientConfig
from dynkube.discovery import APIDiscovery, APIResource, DiscoveryClient
from dynkube.meta import GVR
from dynkube.rest._client import RESTClient

JSON = {"content-type": "application/json"}
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}


def resource(
    name: str,
    kind: str,
    *,
    short_names: tuple[str, ...] = (),
    singular: str | None = None,
    categories: tuple[str, ...] = (),
    subresources: Iterable[str] = (),
    namespaced: bool = True,
    preferred: str | None = None,
) -> APIResource:
    gvr = GVR.parse(name)
    return APIResource(
        gvr=gvr,
        kind=kind,
        singular=kind.lower() if singular is None else singular,
        namespaced=namespaced,
        verbs=frozenset({"get", "list", "watch"}),
        short_names=short_names,
        categories=categories,
        subresources=frozenset(subresources),
        group_preferred_version=preferred or gvr.version,
    )


PODS = resource("pods.v1", "Pod", short_names=("po",), categories=("all",), subresources=("log", "status"))
NAMESPACES = resource("namespaces.v1", "Namespace", short_names=("ns",), namespaced=False)
CORE_EVENTS = resource("events.v1", "Event", short_names=("ev",))
EVENTS = resource("events.v1.events.k8s.io", "Event", short_names=("ev",))
DEPLOYMENTS = resource(
    "deployments.v1.apps", "Deployment", short_names=("deploy",), categories=("all",), subresources=("scale", "status")
)
INGRESSES = resource("ingresses.v1.networking.k8s.io", "Ingress", short_names=("ing",))
HTTP_ROUTES = resource("httproutes.v1.gateway.networking.k8s.io", "HTTPRoute")
HTTP_ROUTES_BETA = resource("httproutes.v1beta1.gateway.networking.k8s.io", "HTTPRoute", preferred="v1")
NODE_METRICS = resource("nodes.v1beta1.metrics.k8s.io", "NodeMetrics", namespaced=False)

CLUSTER = (PODS, NAMESPACES, CORE_EVENTS, DEPLOYMENTS, EVENTS, INGRESSES, HTTP_ROUTES, HTTP_ROUTES_BETA)


def snapshot(*resources: APIResource, **failures: Exception) -> APIDiscovery:
    return APIDiscovery(resources=resources or CLUSTER, failures=failures, aggregated=True)


def grouped(resources: Iterable[APIResource]) -> dict[str, dict[str, list[APIResource]]]:
    groups: dict[str, dict[str, list[APIResource]]] = {}
    for entry in resources:
        groups.setdefault(entry.gvr.group, {}).setdefault(entry.gvr.version, []).append(entry)
    return groups


def aggregated_list(groups: dict[str, dict[str, list[APIResource]]], stale: Iterable[str] = ()) -> dict[str, object]:
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated(entry) for entry in entries] or None,
                    "freshness": "Stale" if f"{group}/{version}" in stale else "Current",
                }
                for version, entries in versions.items()
            ],
        }
        for group, versions in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def core_versions(groups: dict[str, dict[str, list[APIResource]]]) -> dict[str, object]:
    return {"kind": "APIVersions", "versions": list(groups.get("", {})), "serverAddressByClientCIDRs": []}


def group_document(group: str, versions: dict[str, list[APIResource]]) -> dict[str, object]:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0] if entries else None}


def group_list(groups: dict[str, dict[str, list[APIResource]]]) -> dict[str, object]:
    listed = [group_document(group, versions) for group, versions in groups.items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def resource_list(group: str, version: str, entries: Iterable[APIResource]) -> dict[str, object]:
    rows: list[dict[str, object]] = []
    for entry in entries:
        rows.append(
            {
                "name": entry.gvr.resource,
                "singularName": entry.singular,
                "namespaced": entry.namespaced,
                "kind": entry.kind,
                "verbs": sorted(entry.verbs),
                **({"shortNames": list(entry.short_names)} if entry.short_names else {}),
                **({"categories": list(entry.categories)} if entry.categories else {}),
            }
        )
        rows += (
            {"name": f"{entry.gvr.resource}/{sub}", "singularName": "", "namespaced": True, "kind": "X", "verbs": None}
            for sub in sorted(entry.subresources)
        )
    gv = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": rows}


def _aggregated(entry: APIResource) -> dict[str, object]:
    return {
        "resource": entry.gvr.resource,
        "responseKind": {"group": entry.gvr.group, "version": entry.gvr.version, "kind": entry.kind},
        "scope": "Namespaced" if entry.namespaced else "Cluster",
        "singularResource": entry.singular,
        "verbs": sorted(entry.verbs),
        "shortNames": list(entry.short_names) or None,
        "categories": list(entry.categories) or None,
        "subresources": [
            {"subresource": sub, "responseKind": {"kind": "X"}, "verbs": ["get"]} for sub in sorted(entry.subresources)
        ],
    }


class DiscoveryServer:
    """Serves discovery in either form; resources and error responses may change between requests."""

    def __init__(
        self, resources: Iterable[APIResource] = CLUSTER, *, aggregated: bool = True, delay: float = 0.0
    ) -> None:
        self.groups = grouped(resources)
        self.aggregated = aggregated
        self.delay = delay
        self.stale: set[str] = set()
        self.errors: dict[str, int] = {}
        self.unknown: set[str] = set()
        self.documents: dict[str, dict[str, object] | None] = {}
        self.requests: list[httpx2.Request] = []
        self.statuses: list[int] = []

    @property
    def paths(self) -> list[str]:
        return [request.url.path for request in self.requests]

    def take_paths(self) -> list[str]:
        """Return the paths requested since the last call."""
        paths = self.paths
        self.requests.clear()
        return paths

    def serve(self, *resources: APIResource) -> None:
        for group, versions in grouped(resources).items():
            for version, entries in versions.items():
                self.groups.setdefault(group, {}).setdefault(version, []).extend(entries)

    @asynccontextmanager
    async def client(self, *, parallel: int = 16) -> AsyncIterator[DiscoveryClient]:
        config = ClientConfig(server="http://cluster.example")
        async with RESTClient(config, transport=httpx2.MockTransport(self.handle)) as rest:
            yield DiscoveryClient(rest, parallel=parallel)

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        response = self._respond(request)
        await trio.sleep(self.delay)
        self.statuses.append(response.status_code)
        return response

    def document(self, path: str) -> dict[str, object] | None:
        """The response to a client that accepts the newest form."""
        return self.documents.get(path) or self._document(path, aggregated=self.aggregated)

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if path in self.errors:
            code = self.errors[path]
            return httpx2.Response(code, json={**STATUS, "code": code, "message": f"{path} is refused"})
        newest = "v=v2;as=APIGroupDiscoveryList" in request.headers.get("accept", "")
        document = self.document(path) if newest else self._document(path, aggregated=False)
        if document is None or path in self.unknown:
            return httpx2.Response(404, text="404 page not found\n")
        body = json.dumps(document).encode()
        if document["kind"] != "APIGroupDiscoveryList":
            return httpx2.Response(200, content=body, headers=JSON)
        etag = f'"{sha256(body).hexdigest()}"'
        if request.headers.get("if-none-match") == etag:
            return httpx2.Response(304, headers={"etag": etag})
        return httpx2.Response(200, content=body, headers={**JSON, "etag": etag})

    def _document(self, path: str, *, aggregated: bool) -> dict[str, object] | None:
        named = {group: versions for group, versions in self.groups.items() if group}
        match path.strip("/").split("/"):
            case ["version"]:
                return {"kind": "", "major": "1", "minor": "34", "gitVersion": "v1.34.1", "platform": "linux/amd64"}
            case ["api"]:
                core = {"": self.groups.get("", {})}
                return aggregated_list(core, self.stale) if aggregated else core_versions(self.groups)
            case ["apis"]:
                return aggregated_list(named, self.stale) if aggregated else group_list(named)
            case ["apis", group] if group in named:
                return {"kind": "APIGroup", "apiVersion": "v1", **group_document(group, named[group])}
            case ["api", version] if version in self.groups.get("", {}):
                return resource_list("", version, self.groups[""][version])
            case ["apis", group, version] if version in named.get(group, {}):
                return resource_list(group, version, named[group][version])
        return None
