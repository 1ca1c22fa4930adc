"""Paths that are no resources: discovery, OpenAPI, version and health."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from dynkube.meta import GroupVersion
from dynkube.testing._wire import refusals
from dynkube.testing._wire.discovery import Discovery
from dynkube.testing._wire.http import Answer, HTTPRequest
from dynkube.testing._wire.negotiate import DISCOVERY_V2, accepts_aggregated_discovery
from dynkube.testing._wire.openapi import OpenAPI

_HEALTH = {"healthz", "livez", "readyz"}
_PATHS = ("/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version")


class NonResources:
    """Answers to GET on everything that is not a resource.

    Args:
        discovery: The discovery documents.
        openapi: The OpenAPI documents.
        version: What the server calls itself, like ``v1.37.0``.
        aggregated: Whether ``/api`` and ``/apis`` have the aggregated form (since 1.27 all servers do).
    """

    def __init__(self, discovery: Discovery, openapi: OpenAPI, *, version: str, aggregated: bool) -> None:
        self._discovery = discovery
        self._openapi = openapi
        self._version = _version_info(version)
        self._aggregated = aggregated

    def answer(self, request: HTTPRequest) -> Answer:
        """The answer to ``request``.

        Raises:
            APIError: 404 for a path nobody serves, 405 for another method than GET, 503 for discovery of a
                group-version that is out of order.
        """
        document = self._find(request)
        if request.method not in {"GET", "HEAD"}:
            raise refusals.method_not_allowed()
        return document

    def _find(self, request: HTTPRequest) -> Answer:
        match request.segments:
            case []:
                groups = (f"/apis/{gv.group}" for gv in self._discovery.group_versions() if gv.group)
                return _json({"paths": sorted({*_PATHS, *groups})})
            case ["version"]:
                return _json(self._version)
            case [name, *_] if name in _HEALTH:
                return Answer(body=b"ok", content_type="text/plain; charset=utf-8")
            case ["openapi", "v3", *rest]:
                return self._openapi_v3(rest)
            case ["api" | "apis", *rest]:
                return self._discover(request, rest)
        raise refusals.unknown_path()

    def _openapi_v3(self, rest: list[str]) -> Answer:
        body: bytes | None = None
        match rest:
            case []:
                return _json(self._openapi.index())
            case ["api", version]:
                body = self._openapi.document(GroupVersion("", version))
            case ["apis", group, version]:
                body = self._openapi.document(GroupVersion(group, version))
        if body is None:
            raise refusals.unknown_path()
        return Answer(body=body)

    def _discover(self, request: HTTPRequest, rest: list[str]) -> Answer:
        core = request.segments[0] == "api"
        document: dict[str, object] | None = None
        match rest:
            case []:
                if self._aggregated and accepts_aggregated_discovery(request.headers.get("accept")):
                    return self._aggregated_answer(request, core=core)
                address = request.headers.get("host", "")
                document = self._discovery.legacy_core(address) if core else self._discovery.legacy_groups()
            case [version] if core:
                document = self._resources(GroupVersion("", version))
            case [group] if not core:
                document = self._discovery.legacy_group(group)
            case [group, version] if not core and group:
                document = self._resources(GroupVersion(group, version))
        if document is None:
            raise refusals.unknown_path()
        return _json(document, (("Vary", "Accept"),))

    def _resources(self, gv: GroupVersion) -> dict[str, object] | None:
        if gv in self._discovery.unavailable:
            raise refusals.unavailable()
        return self._discovery.legacy_resources(gv)

    def _aggregated_answer(self, request: HTTPRequest, *, core: bool) -> Answer:
        body, etag = self._discovery.aggregated_core() if core else self._discovery.aggregated_groups()
        headers = (("ETag", etag), ("Vary", "Accept"))
        known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
        if etag in known:
            return Answer(status=304, content_type=DISCOVERY_V2, headers=headers)
        return Answer(body=body, content_type=DISCOVERY_V2, headers=headers)


def _json(document: Mapping[str, object], headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    return Answer(body=msgspec.json.encode(document), headers=headers)


def _version_info(version: str) -> dict[str, object]:
    match = re.match(r"v(\d+)\.(\d+)", version)
    if match is None:
        raise ValueError(f"version {version!r} is not of the form 'v1.37.0'")
    return {
        "major": match[1],
        "minor": match[2],
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "dynkube/embedded",
    }
