"""A connection pool for each certificate, closed after its last user."""

from __future__ import annotations

from contextlib import suppress

import httpx2
import pytest
import trio

from dynkube.config import ClientCertificate, ClientConfig, Credential
from dynkube.errors import ClosedError, DynkubeError
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube.rest._pools import PoolKeeper, Pools
from tests.rest.wire import Handler, MakeClient, Wire

OLD = ClientCertificate(b"old", b"key")
NEW = ClientCertificate(b"new", b"key")
GET = Request(method="GET", path="/version")


class PoolMaker:
    """Makes a pair of pools in a second, and records it."""

    def __init__(self) -> None:
        self.made: list[tuple[ClientCertificate | None, Wire, Wire]] = []

    async def __call__(self, certificate: ClientCertificate | None) -> Pools:
        await trio.sleep(1)
        self.made.append((certificate, Wire(), Wire()))
        return Pools(*self.made[-1][1:])


async def test_concurrent_callers_share_one_pair_of_pools() -> None:
    make = PoolMaker()
    keeper = PoolKeeper(make)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(keeper.acquire, OLD)

    assert len(make.made) == 1


async def test_pools_of_an_old_certificate_close_with_their_last_user() -> None:
    make = PoolMaker()
    keeper = PoolKeeper(make)
    first, second = await keeper.acquire(OLD), await keeper.acquire(OLD)
    _, short, long = make.made[0]

    await keeper.acquire(NEW)
    await first.release()
    assert not short.closed
    await second.release()

    assert short.closed
    assert long.closed
    assert [certificate for certificate, *_ in make.made] == [OLD, NEW]


async def test_unused_pools_of_an_old_certificate_close_at_once() -> None:
    make = PoolMaker()
    keeper = PoolKeeper(make)
    await (await keeper.acquire(OLD)).release()

    await keeper.acquire(None)

    assert make.made[0][1].closed


async def test_closing_closes_current_and_old_pools_even_if_in_use() -> None:
    make = PoolMaker()
    keeper = PoolKeeper(make)
    await keeper.acquire(OLD)
    await keeper.acquire(NEW)

    await keeper.aclose()

    assert all(short.closed and long.closed for _, short, long in make.made)


async def test_pools_that_are_made_during_closing_are_closed_and_not_returned() -> None:
    make = PoolMaker()
    keeper = PoolKeeper(make)

    async def close_soon() -> None:
        await trio.sleep(0.5)
        await keeper.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(close_soon)
        with pytest.raises(ClosedError):
            await keeper.acquire(OLD)

    assert [short.closed for _, short, _ in make.made] == [True]


async def test_after_closing_no_pools_are_made() -> None:
    make = PoolMaker()
    keeper = PoolKeeper(make)
    await keeper.aclose()

    with pytest.raises(ClosedError):
        await keeper.acquire(OLD)

    assert make.made == []


async def silent(request: httpx2.Request) -> httpx2.Response:
    await trio.sleep_forever()
    raise AssertionError


async def send_request(client: RESTClient) -> None:
    with trio.move_on_after(1), suppress(DynkubeError):
        await client.request(GET)


@pytest.mark.parametrize("response", [silent, httpx2.Response(200), httpx2.Response(500), httpx2.ReadError("")])
async def test_a_request_releases_its_pools_however_it_ends(
    make_client: MakeClient, response: httpx2.Response | Exception | Handler
) -> None:
    class Rotating:
        certificate = OLD

        async def current(self) -> Credential:
            return Credential(certificate=self.certificate)

        async def refresh(self, rejected: Credential) -> Credential:
            return rejected

    credentials = Rotating()
    wire = Wire(response)
    client = make_client(wire, config=ClientConfig(server="https://api.example", credentials=credentials))
    await send_request(client)
    assert not wire.closed

    credentials.certificate = NEW
    await send_request(client)

    assert wire.closed  # with the pools of the old certificate, which were not in use any more
