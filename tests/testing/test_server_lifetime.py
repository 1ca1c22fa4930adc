"""How an APIServer starts, ends and fails."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import APIServer


async def test_requests_succeed_inside_the_block_and_fail_to_connect_outside() -> None:
    server = APIServer()
    async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        with pytest.raises(httpx2.ConnectError, match="not running"):
            await client.get("/version")

        async with server:
            assert (await client.get("/version")).status_code == 200

        with pytest.raises(httpx2.ConnectError, match="not running"):
            await client.get("/version")


async def test_the_repr_has_the_state_of_the_server() -> None:
    server = APIServer()
    before = repr(server)

    async with server:
        inside = repr(server)

    assert [before, inside, repr(server)] == ["<APIServer, not entered>", "<APIServer, running>", "<APIServer, closed>"]


def test_on_asyncio_the_error_names_serve_in_thread() -> None:
    entering = APIServer().__aenter__()

    with pytest.raises(InvalidInput, match=r"use serve_in_thread\(\)"):
        entering.send(None)  # as on asyncio


async def test_leaving_the_block_ends_open_watches() -> None:
    server = APIServer()
    async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        async with server:
            response = await client.send(client.build_request("GET", "/api/v1/pods?watch=true"), stream=True)
            assert len(server.open_watches) == 1

        assert server.open_watches == ()
        with pytest.raises(httpx2.RemoteProtocolError):
            await response.aread()


async def test_an_exception_in_the_block_is_not_wrapped() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with APIServer():
            raise KeyError("mine")


async def test_a_server_can_be_entered_only_once() -> None:
    server = APIServer()
    async with server:
        pass

    with pytest.raises(ClosedError, match="create a new one"):
        async with server:
            pass


async def test_serve_requires_a_running_server() -> None:
    attempt = APIServer().serve()

    with pytest.raises(ClosedError, match="not running"):
        await attempt.__aenter__()


async def test_two_servers_share_nothing() -> None:
    async with APIServer() as one, APIServer() as other:
        one.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

        assert [item["metadata"]["name"] for item in one.list("configmaps")] == ["a"]
        assert other.list("configmaps") == []
