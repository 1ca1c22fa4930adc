"""F38: a provider installs hundreds of CRDs at once; clients send few requests besides those for the objects."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
import trio

from dynkube import LIVE, Client
from dynkube_testing import APIServer
from tests.informers.kit import crd

GROUPS, EACH = 20, 20
FOLLOWED = 60

pytestmark = pytest.mark.scenario("F38")


def requests_sent(server: APIServer) -> list[str]:
    """Return the paths of discovery requests of any form."""
    paths = [request.path for request in server.audit]
    return [path for path in paths if path in {"/api", "/apis"} or (path.count("/") <= 3 and path.startswith("/apis/"))]


def install(server: APIServer) -> None:
    for number in range(GROUPS * EACH):
        server.create(crd(f"things{number}s", group=f"group{number % GROUPS}.example"))


def name(number: int) -> str:
    return f"things{number}s.v1.group{number % GROUPS}.example"


async def test_waiting_informers_go_live_with_a_few_discovery_requests_in_total(
    server: APIServer, client: Client
) -> None:
    async with AsyncExitStack() as stack:
        informers = [await stack.enter_async_context(client.informer(name(number))) for number in range(FOLLOWED)]
        for informer in informers:
            await informer.wait_synced()
        server.forget_requests()

        install(server)
        for informer in informers:
            await informer.wait_state(LIVE)
        await trio.sleep(60)

        assert len(requests_sent(server)) <= 4
        listed = [request for request in server.audit if request.verb == "list"]
        assert len(listed) <= 2 * FOLLOWED


async def test_names_looked_up_at_once_afterwards_share_a_discovery_request(server: APIServer, client: Client) -> None:
    await client.mapper.load()
    async with client.informer("configmaps.v1") as configs:
        await configs.wait_state(LIVE)
        install(server)
        await trio.sleep(1)
        server.forget_requests()

        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(client.mapper.resolve, f"things{number}s")

        assert len(requests_sent(server)) <= 4
