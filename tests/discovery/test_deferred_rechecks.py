"""What a deferred mapper reads again after a request has failed because of its state."""

from __future__ import annotations

import pytest
import trio

from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.errors import NoMatch
from tests.discovery.wire import DiscoveryServer, grouped, resource

NAME = "widgets.v1.example.com"
CLUSTERED = resource(NAME, "Widget", namespaced=False)
NAMESPACED = resource(NAME, "Widget")


async def loaded(server: DiscoveryServer, client: DiscoveryClient) -> DeferredRESTMapper:
    """Return a mapper in which Widgets are cluster-scoped."""
    server.serve(CLUSTERED)
    mapper = DeferredRESTMapper(client)
    await mapper.load()
    server.take_paths()
    return mapper


@pytest.mark.parametrize("name", [NAME, "widgets"])
async def test_a_recheck_reads_only_the_group(name: str) -> None:
    server = DiscoveryServer()
    async with server.client() as client:
        mapper = await loaded(server, client)
        server.groups |= grouped((NAMESPACED,))

        mapper.recheck(name)

        assert await mapper.resolve(name) == NAMESPACED
    assert server.paths[0] == "/apis/example.com"
    assert not {"/api", "/apis"} & set(server.paths)


async def test_many_rechecks_cause_one_read_in_five_seconds() -> None:
    server = DiscoveryServer()
    async with server.client() as client:
        mapper = await loaded(server, client)

        async def recheck() -> None:
            mapper.recheck(NAME)
            await mapper.resolve(NAME)

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(recheck)
        await recheck()
        burst = server.take_paths()
        await trio.sleep(5)
        await recheck()

    assert burst.count("/apis/example.com") == server.paths.count("/apis/example.com") == 1


async def test_a_recheck_of_a_removed_resource_raises_no_match() -> None:
    server = DiscoveryServer()
    async with server.client() as client:
        mapper = await loaded(server, client)
        del server.groups["example.com"]

        mapper.recheck(NAME)
        with pytest.raises(NoMatch):
            await mapper.resolve(NAME)
        mapper.recheck(NAME)  # nothing is read for an unknown resource
