"""A transport that the test controls."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Protocol

import httpx2

from dynkube.rest._client import RESTClient

Handler = Callable[[httpx2.Request], httpx2.Response] | Callable[[httpx2.Request], Awaitable[httpx2.Response]]

NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


class NoJitter(random.Random):
    """Random numbers that are always the minimum, so that delays are exact."""

    def random(self) -> float:
        return 0.0


class Wire(httpx2.AsyncBaseTransport):
    """Responds from a list or by a function; records the requests, and whether it was closed."""

    def __init__(self, *responses: httpx2.Response | Exception | Handler) -> None:
        self._responses: Iterator[httpx2.Response | Exception | Handler] = iter(responses)
        self._last: httpx2.Response | Exception | Handler | None = None
        self.requests: list[httpx2.Request] = []
        self.closed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self._last = response = next(self._responses, self._last)
        if isinstance(response, Exception):
            raise response
        if isinstance(response, httpx2.Response):
            return response
        assert response is not None
        given = response(request)
        return given if isinstance(given, httpx2.Response) else await given

    async def aclose(self) -> None:
        self.closed = True


class MakeClient(Protocol):
    def __call__(self, transport: httpx2.AsyncBaseTransport, **options: object) -> RESTClient: ...


def status(code: int, reason: str, message: str = "", **fields: object) -> bytes:
    """Return the body of a Status as an API server writes it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return json.dumps({**body, "message": message, **fields}).encode()


async def chunks(*parts: bytes | Exception) -> AsyncIterator[bytes]:
    """Yield the parts of a body; an exception among them is raised in its place."""
    for part in parts:
        if isinstance(part, Exception):
            raise part
        yield part
