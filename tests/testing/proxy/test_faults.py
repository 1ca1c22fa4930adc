"""The proxy can inject the faults of the embedded server, for any server behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import httpx2
import pytest
import trio

from dynkube_testing import APIServer, Chaos, Cut, Ending, FaultProxy, Freeze, Refuse, Rewrite, rewrites
from tests.testing.proxy.kit import WATCH, configmap, connected

pytestmark = pytest.mark.real_time

CONFIGS = "/api/v1/configmaps"
ENDS: dict[Ending, type[Exception] | None] = {
    "clean": None,
    "cut": httpx2.RemoteProtocolError,
    "reset": httpx2.ReadError,
    "mid-line": httpx2.RemoteProtocolError,
    "mid-chunk": httpx2.RemoteProtocolError,
}


async def read_all(response: httpx2.Response) -> type[Exception] | None:
    """Return the type of the error that ended the body, or ``None``."""
    try:
        await response.aread()
    except httpx2.TransportError as error:
        return type(error)
    return None


@pytest.mark.parametrize("how", ENDS)
async def test_an_open_watch_is_ended_on_both_sides(
    server: APIServer, proxy: FaultProxy, client: httpx2.AsyncClient, how: Ending
) -> None:
    async with client.stream("GET", WATCH) as response:
        await server.wait_open_watches(1)
        assert proxy.end_watches("configmaps", how) == 1
        assert await read_all(response) == ENDS[how]

    await server.wait_open_watches(0)
    await proxy.wait_open_watches(0)


@pytest.mark.parametrize("how", ENDS)
async def test_a_list_can_be_cut_after_some_bytes(proxy: FaultProxy, client: httpx2.AsyncClient, how: Ending) -> None:
    proxy.inject(Cut(how, after_bytes=20), times=1)

    async with client.stream("GET", CONFIGS) as response:
        assert await read_all(response) == ENDS[how]

    assert (await client.get(CONFIGS)).status_code == 200


async def test_a_silent_watch_lasts_until_it_is_ended(
    server: APIServer, proxy: FaultProxy, client: httpx2.AsyncClient
) -> None:
    async with client.stream("GET", WATCH) as response:
        await server.wait_open_watches(1)
        proxy.end_watches(how="silent")
        await server.wait_open_watches(0)
        server.create(configmap("a"))
        assert len(proxy.open_watches) == 1
        proxy.end_watches(how="clean")

        assert await response.aread() == b""


async def test_injected_errors_are_sent_without_a_request_to_the_server(
    server: APIServer, proxy: FaultProxy, client: httpx2.AsyncClient
) -> None:
    proxy.inject(Refuse(429, retry_after=3), resource="configmaps", verb="list", times=1)
    fault = proxy.fail(status=503, path_prefix="/version")

    seen = [(await client.get(path)).status_code for path in (CONFIGS, "/version", CONFIGS)]

    assert seen == [429, 503, 200]
    assert fault.hits == 1
    assert len(server.audit) == 1
    assert [record.status for record in proxy.audit] == seen


async def test_responses_are_rewritten_and_frozen(
    server: APIServer, proxy: FaultProxy, client: httpx2.AsyncClient
) -> None:
    proxy.inject(Freeze(), verb="list")
    proxy.inject(Rewrite(rewrites.remove_metadata), verb="list")
    server.create(configmap("a"))

    first = await client.get(CONFIGS)
    server.create(configmap("b"))
    second = await client.get(CONFIGS)

    assert first.json()["items"] == [{}]
    assert second.json() == first.json()


async def test_a_cut_in_mid_chunk_sends_less_than_the_announced_size(server: APIServer, proxy: FaultProxy) -> None:
    server.create(configmap("a"))
    proxy.inject(Cut("mid-chunk", after_lines=0), verb="watch")

    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        _, _, body = (await connection.read_to_end()).partition(b"\r\n\r\n")

    size, _, piece = body.rpartition(b"\r\n")
    assert piece.startswith(b'{"type":"ADDED"')
    assert 0 < len(piece) < int(size.split(b"\r\n")[-1], 16)


async def test_after_chaos_on_a_proxy_requests_succeed(proxy: FaultProxy, client: httpx2.AsyncClient) -> None:
    chaos = Chaos(proxy, random=Random(5), every=0.005)

    async def poll_forever() -> AsyncIterator[object]:
        while True:
            try:
                yield (await client.get(CONFIGS, timeout=0.1)).status_code
            except httpx2.TransportError as error:
                yield type(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(chaos.run)
        outcomes = poll_forever()
        seen = {await anext(outcomes)}
        while len(seen) < 4:
            seen.add(await anext(outcomes))
        await outcomes.aclose()  # type: ignore[attr-defined]  # it is an async generator
        nursery.cancel_scope.cancel()

    assert (await client.get(CONFIGS)).status_code == 200
    assert chaos.counts
