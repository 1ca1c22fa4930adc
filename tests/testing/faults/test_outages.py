"""Outages below HTTP: connections that fail or are dropped, and a server that restarts."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"


@pytest.mark.parametrize(
    ("how", "error"),
    [("refuse", httpx2.ConnectError), ("reset", httpx2.ReadError), ("silent", httpx2.ReadTimeout)],
)
async def test_connections_fail_until_the_outage_is_over(
    server: APIServer, client: httpx2.AsyncClient, how: Any, error: type[Exception]
) -> None:
    with server.refuse_connections(how), pytest.raises(error):
        await client.get(CONFIGS, timeout=60)

    assert (await client.get(CONFIGS)).status_code == 200
    assert len(server.audit) == 1, "the failed connections sent no request"


@pytest.mark.parametrize(("how", "error"), [("reset", httpx2.ReadError), ("cut", httpx2.RemoteProtocolError)])
async def test_drop_connections_ends_every_open_connection(
    server: APIServer, client: httpx2.AsyncClient, how: Any, error: type[Exception]
) -> None:
    async with (
        client.stream("GET", f"{CONFIGS}?watch=true") as one,
        client.stream("GET", "/api/v1/pods?watch=1") as two,
    ):
        assert server.drop_connections(how) == 2
        for response in (one, two):
            with pytest.raises(error):
                await response.aread()

    assert server.open_watches == ()


async def test_a_restart_lasts_as_long_as_given_and_keeps_the_objects(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.create(config("a"))
    old = server.revision
    server.create(config("b"))
    async with trio.open_nursery() as nursery, client.stream("GET", f"{CONFIGS}?watch=true") as response:
        nursery.start_soon(server.restart, 30)
        with pytest.raises(httpx2.ReadError):
            await response.aread()
        await trio.sleep(29)
        with pytest.raises(httpx2.ConnectError):
            await client.get(CONFIGS)

    resumed = await client.get(f"{CONFIGS}?watch=true&resourceVersion={old}")
    assert len((await client.get(CONFIGS)).json()["items"]) == 2
    assert json.loads(resumed.text)["object"]["code"] == 410


@pytest.mark.real_time
async def test_connections_of_tcp_clients_fail_too(server: APIServer) -> None:
    async with server.serve() as endpoint, httpx2.AsyncClient(base_url=endpoint.url) as client:
        async with client.stream("GET", f"{CONFIGS}?watch=true") as response:
            with server.refuse_connections():
                assert server.drop_connections() == 1
                with pytest.raises(httpx2.ReadError):
                    await response.aread()
                with pytest.raises(httpx2.ConnectError):
                    await client.get(CONFIGS)
                async with server.serve() as later, httpx2.AsyncClient(base_url=later.url) as other:
                    with pytest.raises(httpx2.ConnectError):
                        await other.get(CONFIGS)
        later_response = await client.get(CONFIGS)

    assert later_response.status_code == 200


async def test_invalid_outages_are_rejected(server: APIServer) -> None:
    wrong: Any = "gently"
    with pytest.raises(InvalidInput, match="pass 'refuse', 'reset' or 'silent'"):
        server.refuse_connections(wrong)
    with pytest.raises(InvalidInput, match="pass 'cut' or 'reset'"):
        server.drop_connections(wrong)
    with pytest.raises(InvalidInput, match="seconds is -1"):
        await server.restart(-1)
