"""Tracking whether a resource is served, without following its objects."""

from __future__ import annotations

import trio

from dynkube import GVR, Client
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import CRDS, WIDGETS, crd

RESOURCE = GVR.parse(WIDGETS)


async def test_an_absence_is_known_once_crds_and_discovery_have_been_read(server: APIServer, client: Client) -> None:
    with client._layers()[1].serving(RESOURCE) as serving:
        assert (serving.known, serving.served) == (False, False)

        await serving.wait_known()

        assert (serving.known, serving.served, serving.reason) == (True, False, "CRDNotFound")


async def test_a_wait_ends_when_the_crd_is_established(server: APIServer, client: Client) -> None:
    with client._layers()[1].serving(RESOURCE) as serving:
        await serving.wait_known()
        server.create(crd())

        await serving.wait_served()

        assert (serving.known, serving.served) == (True, True)


async def test_availability_is_unknown_while_every_source_fails(server: APIServer, client: Client) -> None:
    server.inject(Refuse(503))
    with client._layers()[1].serving(RESOURCE) as serving:
        with trio.move_on_after(100) as waiting:
            await serving.wait_known()

        assert (waiting.cancelled_caught, serving.known, serving.served) == (True, False, False)


async def test_an_absence_is_unknown_while_no_source_can_confirm_it(server: APIServer, client: Client) -> None:
    with client._layers()[1].serving(RESOURCE) as serving:
        await serving.wait_known()

        server.inject(Refuse(403))
        server.end_watches(CRDS)
        await trio.sleep(5)

        assert (serving.known, serving.served) == (False, False)
