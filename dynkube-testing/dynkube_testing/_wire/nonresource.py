"""Requests to non-resource paths: discovery, OpenAPI, version and health."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dynkube.errors import InvalidInput
from dynkube.meta import GroupVersion
from dynkube_testing._calls import refuse
from dynkube_testing._wire import health, refusals
from dynkube_testing._wire.discovery import Discovery, Document
from dynkube_testing._wire.http import Answer, HTTPRequest
from dynkube_testing._wire.negotiate import (
    DISCOVERY_V2,
    accepts_aggregated_discovery,
    check_indented,
    negotiate_document,
)
from dynkube_testing._wire.openapi.answers import OpenAPI

#: The version that the server reports by default: the release from which its built-in types are.
DEFAULT_VERSION = "v1.36.3"

_PATHS = ("/api", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version", *health.paths())


class NonResources:
    """Responses to requests for all non-resource paths.

    Other paths of a kube-apiserver (``/metrics``, ``/openid/v1/jwks``, ``/.well-known/openid-configuration``,
    ``/statusz``, ``/flagz``) return 404: there are no metrics and no token issuer.

    Args:
        discovery: The discovery documents.
        openapi: The OpenAPI documents.
        version: The version that the server reports, like ``v1.36.3``.
        aggregated: Whether ``/api`` and ``/apis`` support the aggregated form (all servers since 1.27 do).

    Raises:
        InvalidInput: The version is malformed.
    """

    def __init__(self, discovery: Discovery, openapi: OpenAPI, *, version: str, aggregated: bool) -> None:
        self._discovery = discovery
        self._openapi = openapi
        self._version = _version_info(version)
        self._aggregated = aggregated

    async def answer(self, request: HTTPRequest) -> Answer:
        """Return the response to ``request``.

        Raises:
            APIError: 404 for an unknown version of a built-in group; 405 for another method than GET; 406 if the Accept
                header has no supported media type.
        """
        found = await self._openapi.answer(request) if request.segments[:1] == ("openapi",) else self._find(request)
        if found is None:
            return refusals.PAGE_NOT_FOUND
        if request.method == "GET" or not self._routed_by_method(request):
            return found
        raise refuse.method_not_allowed()

    def _routed_by_method(self, request: HTTPRequest) -> bool:
        """Return whether the path supports only GET, and not even HEAD.

        As in kube-apiserver, the other paths ignore the method.
        """
        match request.segments:
            case ["version"] | ["api", *_]:
                return True
            case ["apis", group, _]:
                return self._discovery.is_builtin(group)
        return False

    def _find(self, request: HTTPRequest) -> Answer | None:
        match request.segments:
            case []:
                return _indented({"paths": sorted({*_PATHS, *self._served_paths()})})
            case ["version"]:
                check_indented(request)
                return _indented(self._version)
            case [name, *_] if name in health.ENDPOINTS:
                return health.answer(request)
            case ["api" | "apis", *rest]:
                return self._discover(request, rest)
        return None

    def _served_paths(self) -> Iterator[str]:
        for gv in self._discovery.group_versions():
            if gv.group:
                yield f"/apis/{gv.group}"
            yield f"/apis/{gv}" if gv.group else f"/api/{gv}"

    def _discover(self, request: HTTPRequest, rest: list[str]) -> Answer | None:
        core = request.segments[0] == "api"
        document: Document | None = None
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
            return None
        layout = negotiate_document(request, routed=self._routed_by_method(request))
        return Answer(body=layout.document(msgspec.json.encode(document)), content_type=layout.content_type)

    def _resources(self, gv: GroupVersion) -> Document | None:
        document = self._discovery.legacy_resources(gv)
        if document is None and self._discovery.is_builtin(gv.group):
            raise refusals.unknown_path()
        return document

    def _aggregated_answer(self, request: HTTPRequest, *, core: bool) -> Answer:
        body, etag = self._discovery.aggregated_core() if core else self._discovery.aggregated_groups()
        headers = (("ETag", etag), ("Vary", "Accept"), ("Cache-Control", "public"))
        known = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
        if etag in known:
            return Answer(status=304, content_type=DISCOVERY_V2, headers=headers)
        return Answer(body=body, content_type=DISCOVERY_V2, headers=headers)


def _indented(document: Document) -> Answer:
    # As in kube-apiserver, these documents are indented for all clients.
    return Answer(body=msgspec.json.format(msgspec.json.encode(document), indent=2))


def _version_info(version: str) -> Document:
    match = re.fullmatch(r"v(\d+)\.(\d+)(\..+)?", version)
    if match is None:
        raise InvalidInput(f"version is {version!r}: pass one like {DEFAULT_VERSION!r}")
    major, minor = match[1], match[2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(max(int(minor) - 1, 0)),
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "dynkube/embedded",
    }
