"""Only one large request body at a time is decoded."""

from __future__ import annotations

import tracemalloc

import httpx2
import pytest
import trio

from dynkube_testing import APIServer

pytestmark = pytest.mark.real_time

# 200 KB, and 15 times that when decoded. A list is invalid in a ConfigMap, which is noticed after decoding.
BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":[' + b"{}," * 66_000 + b"{}]}}"


async def peak_of(clients: int) -> int:
    """Return the peak of allocated bytes while this many clients send ``BODY`` at the same time."""

    async def send(client: httpx2.AsyncClient) -> None:
        path = f"{endpoint.url}/api/v1/namespaces/default/configmaps"
        response = await client.post(path, content=BODY, headers={"Content-Type": "application/json"})
        assert response.status_code == 400

    async with APIServer() as server, server.serve() as endpoint, httpx2.AsyncClient(timeout=None) as client:
        await client.get(f"{endpoint.url}/version")
        tracemalloc.start()
        try:
            async with trio.open_nursery() as nursery:
                for _ in range(clients):
                    nursery.start_soon(send, client)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return peak


async def test_bodies_that_arrive_together_are_decoded_one_after_the_other() -> None:
    one = await peak_of(1)
    assert one > 10 * len(BODY)

    assert await peak_of(12) < 2 * one + 3 * 12 * len(BODY)
