"""A transport that runs a function between client and server, just before certain requests are sent."""

from __future__ import annotations

from collections.abc import Callable

import httpx2


class HookedTransport(httpx2.AsyncBaseTransport):
    """Calls ``before`` just before requests for one ConfigMap are sent."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self.before: Callable[[str], None] = lambda _: None
        self.requests: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        params = request.url.params
        parts = [request.method, *(name for name in ("force", "dryRun") if params.get(name) in ("true", "All"))]
        if "configmaps/" in request.url.path:
            self.requests.append(" ".join(parts))
            self.before(self.requests[-1])
        return await self._inner.handle_async_request(request)
