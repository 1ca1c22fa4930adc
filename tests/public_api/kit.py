"""Helpers for tests of the public API: objects, and a transport that responds to some requests itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2

Intercept = Callable[[httpx2.Request], httpx2.Response | Exception | None]


class InterceptingTransport(httpx2.AsyncBaseTransport):
    """Calls ``intercept`` for each request; if it returns ``None``, forwards the request to ``inner``."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, intercept: Intercept) -> None:
        self._inner = inner
        self._intercept = intercept

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._intercept(request)
        if isinstance(response, Exception):
            raise response
        return await self._inner.handle_async_request(request) if response is None else response

    async def aclose(self) -> None:
        await self._inner.aclose()


def for_pods(respond: Callable[[], httpx2.Response | Exception], *, watch: bool | None = None) -> Intercept:
    """Return an ``intercept`` for requests on all pods: watches, lists, or both."""

    def intercept(request: httpx2.Request) -> httpx2.Response | Exception | None:
        mine = request.url.path == "/api/v1/pods" and watch in (None, "watch" in request.url.params)
        return respond() if mine else None

    return intercept


def html(code: int = 200) -> httpx2.Response:
    """Return the response of a login page or a load balancer."""
    page = b"<html><title>Please log in</title></html>"
    return httpx2.Response(code, headers={"content-type": "text/html"}, content=page)


def stream(*parts: bytes | Exception) -> httpx2.Response:
    """Return the response of a watch with these parts; an exception breaks the connection there."""
    return httpx2.Response(200, headers={"content-type": "application/json"}, content=_chunks(parts))


async def _chunks(parts: tuple[bytes | Exception, ...]) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, Exception):
            raise part
        yield part


def added(name: str, version: int) -> bytes:
    """Return a line of a watch on pods."""
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version)}
    return json.dumps({"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}).encode()


def config_map(name: str = "settings", **fields: Any) -> dict[str, Any]:
    """Return a ConfigMap; fields given as ``None`` are left out."""
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}
    return {key: value for key, value in obj.items() if value is not None}
