"""Helpers for tests of the public API: objects, and a transport that answers some requests itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2

Trouble = Callable[[httpx2.Request], httpx2.Response | Exception | None]


class LyingWire(httpx2.AsyncBaseTransport):
    """Calls ``trouble`` for each request; if it returns ``None``, forwards the request to ``inner``."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, trouble: Trouble) -> None:
        self._inner = inner
        self._trouble = trouble

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._trouble(request)
        if isinstance(answer, Exception):
            raise answer
        return await self._inner.handle_async_request(request) if answer is None else answer

    async def aclose(self) -> None:
        await self._inner.aclose()


def for_pods(answer: Callable[[], httpx2.Response | Exception], *, watch: bool | None = None) -> Trouble:
    """Return a ``trouble`` for requests on all pods: watches, lists, or both."""

    def trouble(request: httpx2.Request) -> httpx2.Response | Exception | None:
        mine = request.url.path == "/api/v1/pods" and watch in (None, "watch" in request.url.params)
        return answer() if mine else None

    return trouble


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
