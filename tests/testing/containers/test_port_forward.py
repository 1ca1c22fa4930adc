"""Ports of pods, played by functions of a test, as clients of the WebSocket protocol see them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest
import trio
from httpx2.websockets import AsyncWebSocketClient, AsyncWebSocketSession, WebSocketDisconnect

from dynkube_testing import APIServer, PortConnection
from tests.testing.containers.kit import PODS

HANDSHAKE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol": "v4.channel.k8s.io",
}


async def echo(connection: PortConnection) -> None:
    """Send back what is received, after the port."""
    await connection.stream.send_all(f"{connection.port}:".encode())
    async for data in connection.stream:
        await connection.stream.send_all(data)


@asynccontextmanager
async def forwarding(client: httpx2.AsyncClient, query: str) -> AsyncGenerator[AsyncWebSocketSession]:
    connecting = AsyncWebSocketClient(client, keepalive_ping_interval_seconds=None)
    url = f"{PODS}/web/portforward?{query}"
    async with connecting.connect(url, subprotocols=["v4.channel.k8s.io"]) as websocket:
        yield websocket


async def received(websocket: AsyncWebSocketSession, count: int) -> list[bytes]:
    return [await websocket.receive_bytes() for _ in range(count)]


async def test_each_port_has_a_channel_for_data_and_one_for_errors(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.containers.on_port_forward(echo)
    async with forwarding(client, "ports=80&ports=8080") as websocket:
        messages = await received(websocket, 6)

        assert sorted(messages) == sorted(
            [b"\x00\x50\x00", b"\x01\x50\x00", b"\x02\x90\x1f", b"\x03\x90\x1f", b"\x0080:", b"\x028080:"]
        )
        await websocket.send_bytes(b"\x02ping")
        assert await received(websocket, 1) == [b"\x02ping"]
        await websocket.send_bytes(b"\x00pong")
        assert await received(websocket, 1) == [b"\x00pong"]


async def test_the_connection_ends_with_the_function(server: APIServer, client: httpx2.AsyncClient) -> None:
    async def greet(connection: PortConnection) -> None:
        await connection.stream.send_all(b"hello")

    server.containers.on_port_forward(greet)
    async with forwarding(client, "ports=80") as websocket:
        assert (await received(websocket, 3))[2] == b"\x00hello"

        with pytest.raises(WebSocketDisconnect):
            await websocket.receive_bytes()


async def test_the_stream_ends_when_the_client_disconnects(server: APIServer, client: httpx2.AsyncClient) -> None:
    ended = trio.Event()

    async def listen(connection: PortConnection) -> None:
        assert b"".join([data async for data in connection.stream]) == b"last words"
        ended.set()

    server.containers.on_port_forward(listen)
    async with forwarding(client, "ports=80") as websocket:
        await received(websocket, 2)
        await websocket.send_bytes(b"\x00last words")
        await websocket.close()
        await ended.wait()


async def test_a_function_that_fails_is_logged_and_reported(
    server: APIServer, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: PortConnection) -> None:
        raise OSError("connection refused")

    server.containers.on_port_forward(fail)
    async with forwarding(client, "ports=80") as websocket:
        messages = await received(websocket, 3)

    assert messages[2] == b"\x01an error occurred forwarding to port 80: OSError('connection refused')"
    assert "the function that plays port 80 failed" in caplog.text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", 'query parameter "ports" is required'),
        ("ports=x", 'unable to parse "x" as a port: it must be between 1 and 65535'),
        ("ports=80,0", 'unable to parse "0" as a port: it must be between 1 and 65535'),
        ("ports=65536", 'unable to parse "65536" as a port: it must be between 1 and 65535'),
    ],
)
async def test_wrong_ports_are_errors(server: APIServer, client: httpx2.AsyncClient, query: str, message: str) -> None:
    server.containers.on_port_forward(echo)

    response = await client.get(f"{PODS}/web/portforward?{query}", headers=HANDSHAKE)

    assert (response.status_code, response.json()["message"]) == (400, message)
