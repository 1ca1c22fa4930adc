"""The lease has connections of its own: over TCP, where connections are limited."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
import trio

import dynkube
from dynkube import Limits
from dynkube.controllers import LeaderElection, LeaderElector
from dynkube.errors import ClosedError
from dynkube_testing import APIServer, RequestFacts
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send, wait_disconnect
from tests.informers.kit import WIDGETS, crd, widget

pytestmark = pytest.mark.real_time


class Held:
    """Requests that get no response."""

    def __init__(self) -> None:
        self.arrived = trio.Event()

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self.arrived.set()
        await wait_disconnect(receive)


async def test_a_lease_is_acquired_renewed_and_released_while_requests_use_all_connections(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.inject(held := Held(), verb="patch", resource=WIDGETS)
    election = LeaderElection("sites", namespace="default", retry_period=0.01)
    async with (
        server.serve() as endpoint,
        dynkube.connect(url=endpoint.url, limits=Limits(max_connections=1)) as client,
        trio.open_nursery() as nursery,
    ):
        await client.resource(WIDGETS).get("a")
        nursery.start_soon(client.resource(WIDGETS).patch, "a", {"spec": {"size": 2}})
        await held.arrived.wait()
        elector = LeaderElector(client, election, rng=Random(1), now=lambda: datetime.now(UTC))
        with trio.fail_after(30):
            async with (
                elector.leadership(),
                client._separate_connections() as separate,
                separate.resource("leases").watch(namespace="default", bookmarks=False) as events,
            ):
                async for event in events:
                    assert not isinstance(event, dynkube.Bookmark)
                    if event.object["spec"]["renewTime"] != event.object["spec"]["acquireTime"]:
                        break
        nursery.cancel_scope.cancel()

    assert server.get("leases", "sites")["spec"]["holderIdentity"] == ""


async def test_separate_connections_are_closed_with_the_client(server: APIServer) -> None:
    async with server.serve() as endpoint:
        async with dynkube.connect(url=endpoint.url) as client:
            opened = client._separate_connections()
            separate = await opened.__aenter__()
            await separate.resource("namespaces").get("default")
        with pytest.raises(ClosedError):
            await separate.resource("namespaces").get("default")
        await opened.__aexit__(None, None, None)
