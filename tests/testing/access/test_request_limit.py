"""A server may limit the number of requests in flight; it responds 429 to further ones."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from dynkube_testing._asgi import Message

PODS = "/api/v1/namespaces/default/pods"


class SlowBody:
    """A POST whose body does not end before :meth:`end` is called. It calls the ASGI application without a client."""

    def __init__(self, server: APIServer) -> None:
        self._server = server
        self._end = trio.Event()
        self.waiting = trio.Event()
        self.status = 0

    async def send(self) -> None:
        scope = {
            "type": "http",
            "method": "POST",
            "path": PODS,
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        await self._server.app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        self.waiting.set()
        await self._end.wait()
        return {"type": "http.request", "body": b"{", "more_body": False}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]

    def end(self) -> None:
        self._end.set()


@pytest.fixture
async def narrow() -> AsyncIterator[APIServer]:
    async with APIServer(max_inflight=1) as server:
        yield server


@pytest.fixture
async def client(narrow: APIServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=narrow.transport(), base_url=narrow.url, timeout=None) as client:
        yield client


async def test_a_request_above_the_limit_gets_a_429_with_retry_after(
    narrow: APIServer, client: httpx2.AsyncClient
) -> None:
    slow = SlowBody(narrow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.send)
        await slow.waiting.wait()
        rejected, probe = await client.get(PODS), await client.get("/readyz")
        slow.end()
    after = await client.get(PODS)

    assert (rejected.status_code, rejected.headers["Retry-After"]) == (429, "1")
    assert rejected.json()["message"] == "Too many requests, please try again later."
    assert rejected.json()["reason"] == "TooManyRequests"
    assert rejected.json()["details"] == {"retryAfterSeconds": 1}
    assert (probe.status_code, slow.status, after.status_code) == (200, 400, 200)


async def test_an_open_watch_does_not_count_towards_the_limit(narrow: APIServer, client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", f"{PODS}?watch=1") as one, client.stream("GET", f"{PODS}?watch=1") as two:
        other = await client.get(PODS)

    assert (one.status_code, two.status_code, other.status_code) == (200, 200, 200)


async def test_a_request_that_fails_stops_counting_towards_the_limit(client: httpx2.AsyncClient) -> None:
    codes = [(await client.get(path)).status_code for path in ("/nothing", f"{PODS}/a", PODS)]

    assert codes == [404, 404, 200]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_rejected(limit: int) -> None:
    with pytest.raises(InvalidInput, match=f"max_inflight is {limit}: pass a positive number"):
        APIServer(max_inflight=limit)
