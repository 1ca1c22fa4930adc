"""An API server that responds from a script, below the real REST client, mapper and verbs."""

from __future__ import annotations

import json
import math
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeAlias

import httpx2
import trio

from dynkube.client._client import APIClient
from dynkube.client._watch_settings import WatchSettings
from dynkube.config import ClientConfig
from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient

JSON = {"content-type": "application/json"}

Part: TypeAlias = bytes | float | Exception
ScriptedResponse: TypeAlias = httpx2.Response | Exception | Callable[[httpx2.Request], httpx2.Response]

FOREVER = math.inf

_DISCOVERY: dict[str, dict[str, Any]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": "configmaps",
                "singularName": "configmap",
                "kind": "ConfigMap",
                "namespaced": True,
                "verbs": ["get"],
            },
            {"name": "pods", "singularName": "pod", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
            {"name": "secrets", "singularName": "secret", "kind": "Secret", "namespaced": True, "verbs": ["get"]},
            {"name": "namespaces", "singularName": "namespace", "kind": "Namespace", "namespaced": False, "verbs": []},
        ],
    },
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "apps",
                "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
            }
        ],
    },
    "/apis/apps": {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    },
    "/apis/apps/v1": {
        "kind": "APIResourceList",
        "groupVersion": "apps/v1",
        "resources": [
            {
                "name": "deployments",
                "singularName": "deployment",
                "kind": "Deployment",
                "namespaced": True,
                "verbs": ["get"],
                "shortNames": ["deploy"],
            }
        ],
    },
}


class NoJitter(random.Random):
    """Random numbers that are always the minimum, so that delays and timeouts are exact."""

    def random(self) -> float:
        return 0.0


class Body(httpx2.AsyncByteStream):
    """The parts of a body: bytes are sent, numbers are seconds of silence, an exception breaks the connection."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = iter(parts)
        self.closed_at: float | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await trio.lowlevel.checkpoint()
        for part in self._parts:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, bytes):
                return part
            await trio.sleep(part)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        if self.closed_at is None:
            self.closed_at = trio.current_time()


class ScriptedServer(httpx2.AsyncBaseTransport):
    """Serves discovery, and ``responses`` in order for all other requests; records these requests and their times."""

    def __init__(self, *responses: ScriptedResponse) -> None:
        self.responses = list(responses)
        self.requests: list[httpx2.Request] = []
        self.times: list[float] = []
        self.discoveries = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        if request.url.path in _DISCOVERY:
            self.discoveries += 1
            return httpx2.Response(200, headers=JSON, content=json.dumps(_DISCOVERY[request.url.path]).encode())
        self.requests.append(request)
        self.times.append(trio.current_time())
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response if isinstance(response, httpx2.Response) else response(request)

    @property
    def request_lines(self) -> list[str]:
        """Each request as ``describe`` shows it."""
        return [describe(request) for request in self.requests]

    @property
    def bodies(self) -> list[Any]:
        """The decoded bodies of the requests."""
        return [json.loads(request.content) for request in self.requests]


def describe(request: httpx2.Request) -> str:
    """Describe a request in a line: ``GET /api/v1/pods?watch rv=5``."""
    params = request.url.params
    watch = "?watch" if params.get("watch") == "true" else ""
    shown = [("rv", "resourceVersion"), ("match", "resourceVersionMatch"), ("limit", "limit"), ("continue", "continue")]
    rest = "".join(f" {short}={params[name]}" for short, name in shown if name in params)
    return f"{request.method} {request.url.path}{watch}{rest}"


def connect(
    server: httpx2.AsyncBaseTransport,
    *,
    settings: WatchSettings | None = None,
    namespace: str = "shop",
    limits: Limits | None = None,
) -> APIClient:
    """Return the real client over ``server``, without jitter."""
    rest = RESTClient(ClientConfig(server="http://api.example"), transport=server, random=NoJitter(), limits=limits)
    mapper = DeferredRESTMapper(DiscoveryClient(rest))
    return APIClient(
        rest,
        mapper,
        namespace=namespace,
        field_manager="tester",
        watch_settings=settings or WatchSettings(),
        random=NoJitter(),
    )


# ── responses ────────────────────────────────────────────────────────────────────────────────


def pod(
    name: str, version: int | str = 1, *, uid: str | None = None, namespace: str = "shop", **fields: object
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **fields}


def ok(document: object, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, headers=JSON, content=json.dumps(document, separators=(",", ":")).encode())


def error_response(
    code: int, reason: str, message: str = "", headers: dict[str, str] | None = None, **fields: object
) -> httpx2.Response:
    return httpx2.Response(
        code, headers={**JSON, **(headers or {})}, content=json.dumps(status(code, reason, message, **fields)).encode()
    )


def status(code: int, reason: str, message: str = "", **fields: object) -> dict[str, Any]:
    base = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
    return {**base, "code": code, "reason": reason, "message": message, **fields}


def pods(version: int | str, *items: dict[str, Any], token: str = "", remaining: int | None = None) -> httpx2.Response:
    """A response to a list; items of built-in kinds have no kind and apiVersion."""
    metadata = {"resourceVersion": str(version), "continue": token, "remainingItemCount": remaining}
    bare = [{field: value for field, value in item.items() if field not in {"apiVersion", "kind"}} for item in items]
    present = {field: value for field, value in metadata.items() if value not in ("", None)}
    return ok({"kind": "PodList", "apiVersion": "v1", "metadata": present, "items": bare})


def event(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"


def bookmark(version: int | str, *, end: bool = False) -> bytes:
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    metadata = {"resourceVersion": str(version), **annotations}
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})


def stream(*parts: Part) -> httpx2.Response:
    """A response to a watch: bytes, seconds of silence, an exception that breaks it; then a clean end."""
    return httpx2.Response(200, headers=JSON, stream=Body(parts))
