"""How many watches each client has had, in all and at once."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import httpx2

from dynkube.testing import APIServer, WatchCount


def counts(server: APIServer) -> list[tuple[str, str, int, int, int]]:
    return [(str(c.resource), c.user_agent, c.opened, c.most, c.open) for c in server.watch_counts]


async def test_watches_are_counted_by_resource_and_client(server: APIServer, client: httpx2.AsyncClient) -> None:
    def watch(resource: str, who: str) -> AbstractAsyncContextManager[httpx2.Response]:
        return client.stream("GET", f"/api/v1/{resource}?watch=1", headers={"User-Agent": who})

    async with watch("pods", "a"):
        async with watch("pods", "a"), watch("pods", "b"):
            pass
        async with watch("pods", "a"), watch("services", "a"):
            during = counts(server)

    assert during == [("pods.v1", "a", 3, 2, 2), ("pods.v1", "b", 1, 1, 0), ("services.v1", "a", 1, 1, 1)]
    assert [count.open for count in server.watch_counts] == [0, 0, 0]


async def test_a_watch_that_is_refused_does_not_count(server: APIServer, client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/v1/pods?watch=1&limit=many")

    assert answer.status_code == 400
    assert server.watch_counts == ()


def test_a_count_begins_at_nothing() -> None:
    count = WatchCount(resource=APIServer().kind("pods").gvr, user_agent="a")

    assert (count.opened, count.most, count.open) == (0, 0, 0)
