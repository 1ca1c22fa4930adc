"""Counts of watches by resource and client: opened, open at once, open now."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import httpx2

from dynkube_testing import APIServer, WatchCount


def counts(server: APIServer) -> list[tuple[str, str, int, int, int]]:
    return [(str(c.resource), c.user_agent, c.opened, c.most, c.open) for c in server.watch_counts]


async def test_watches_are_counted_by_resource_and_client(server: APIServer, client: httpx2.AsyncClient) -> None:
    def watch(resource: str, user_agent: str) -> AbstractAsyncContextManager[httpx2.Response]:
        return client.stream("GET", f"/api/v1/{resource}?watch=1", headers={"User-Agent": user_agent})

    async with watch("pods", "a"):
        async with watch("pods", "a"), watch("pods", "b"):
            pass
        async with watch("pods", "a"), watch("services", "a"):
            during = counts(server)

    assert during == [("pods.v1", "a", 3, 2, 2), ("pods.v1", "b", 1, 1, 0), ("services.v1", "a", 1, 1, 1)]
    assert [count.open for count in server.watch_counts] == [0, 0, 0]


async def test_a_watch_with_an_error_response_is_not_counted(server: APIServer, client: httpx2.AsyncClient) -> None:
    response = await client.get("/api/v1/pods?watch=1&limit=many")

    assert response.status_code == 400
    assert server.watch_counts == ()


def test_counts_begin_at_zero() -> None:
    count = WatchCount(resource=APIServer().kind("pods").gvr, user_agent="a")

    assert (count.opened, count.most, count.open) == (0, 0, 0)
