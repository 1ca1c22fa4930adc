"""Commands in containers, played by functions of a test, as clients of the WebSocket protocols see them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec
import pytest
import trio
from httpx2.websockets import AsyncWebSocketClient, AsyncWebSocketSession, WebSocketDisconnect

from dynkube_testing import APIServer, ContainerSession
from tests.testing.containers.kit import PODS

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
SUCCESS = {"metadata": {}, "status": "Success"}


@dataclass
class Terminal:
    """The client's side of a WebSocket."""

    websocket: AsyncWebSocketSession

    async def send(self, channel: int, data: bytes) -> None:
        await self.websocket.send_bytes(bytes([channel]) + data)

    async def receive(self) -> tuple[int, bytes]:
        """Return channel and data of the next message."""
        message = await self.websocket.receive_bytes()
        return message[0], message[1:]

    async def rest(self) -> dict[int, bytes]:
        """Return what was received on each channel until the WebSocket is closed."""
        received: dict[int, bytes] = {}
        while True:
            try:
                channel, data = await self.receive()
            except WebSocketDisconnect:
                return received
            received[channel] = received.get(channel, b"") + data

    async def status(self) -> Any:
        """Return the Status at the end."""
        return msgspec.json.decode((await self.rest())[3])


@asynccontextmanager
async def terminal(
    client: httpx2.AsyncClient,
    query: str = "command=ls&stdout=1&stdin=1&stderr=1",
    *,
    protocol: str = V5,
    to: str = "exec",
) -> AsyncGenerator[Terminal]:
    url = f"{PODS}/web/{to}?{query}"
    connecting = AsyncWebSocketClient(client, keepalive_ping_interval_seconds=None)
    async with connecting.connect(url, subprotocols=[protocol]) as websocket:
        assert websocket.subprotocol == protocol
        yield Terminal(websocket)


@pytest.mark.parametrize("protocol", [V4, V5])
async def test_output_is_that_of_the_function(server: APIServer, client: httpx2.AsyncClient, protocol: str) -> None:
    seen: list[ContainerSession] = []

    def play(session: ContainerSession) -> str:
        seen.append(session)
        return "bin\netc\n"

    server.containers.on_exec(play)
    async with terminal(client, "command=ls&command=-l&stdout=1", protocol=protocol) as shell:
        received = await shell.rest()

    assert (received[1], msgspec.json.decode(received[3])) == (b"bin\netc\n", SUCCESS)
    assert [(each.command, each.container, each.tty) for each in seen] == [(("ls", "-l"), "app", False)]
    assert seen[0].pod["metadata"]["name"] == "web"


async def test_the_exit_code_is_that_of_the_function(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.on_exec(lambda _: 3)

    async with terminal(client) as shell:
        status = await shell.status()

    assert (status["reason"], status["details"]) == (
        "NonZeroExitCode",
        {"causes": [{"reason": "ExitCode", "message": "3"}]},
    )


async def test_streams_are_connected_while_the_function_runs(server: APIServer, client: httpx2.AsyncClient) -> None:
    async def upper(session: ContainerSession) -> None:
        async for data in session.stdin:
            await session.stdout.send_all(data.upper())
        await session.stderr.send_all(b"done")

    server.containers.on_exec(upper)
    async with terminal(client) as shell:
        await shell.send(0, b"hello")
        assert await shell.receive() == (1, b"HELLO")
        await shell.send(255, b"\x00")

        received = await shell.rest()

    assert (received[2], msgspec.json.decode(received[3])) == (b"done", SUCCESS)


async def test_sizes_of_the_terminal_are_passed_on(server: APIServer, client: httpx2.AsyncClient) -> None:
    async def size(session: ContainerSession) -> str:
        assert session.tty
        return f"{await session.next_size()} {await session.next_size()}"

    server.containers.on_exec(size)
    async with terminal(client, "command=sh&stdin=1&stdout=1&tty=1") as shell:
        await shell.send(4, b'{"Width":80,"Height":24}')
        await shell.send(4, b"not json")
        await shell.send(4, b'{"Width":120,"Height":40}')

        assert (await shell.rest())[1] == b"(80, 24) (120, 40)"


async def test_a_function_whose_client_disconnects_is_cancelled(server: APIServer, client: httpx2.AsyncClient) -> None:
    began, cancelled = trio.Event(), trio.Event()

    async def sleep(_: ContainerSession) -> None:
        began.set()
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    server.containers.on_exec(sleep)
    async with terminal(client):
        await began.wait()

    await cancelled.wait()


async def test_a_function_that_fails_is_logged_and_an_internal_error(
    server: APIServer, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: ContainerSession) -> None:
        raise KeyError("no such tool")

    server.containers.on_exec(fail)
    async with terminal(client) as shell:
        status = await shell.status()

    assert (status["reason"], status["code"]) == ("InternalError", 500)
    assert "KeyError('no such tool')" in status["message"]
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


async def test_streams_that_were_not_requested_are_discarded(server: APIServer, client: httpx2.AsyncClient) -> None:
    async def play(session: ContainerSession) -> None:
        assert await session.stdin.receive_some() == b""
        await session.stdout.send_all(b"out")
        await session.stderr.send_all(b"err")

    server.containers.on_exec(play)
    async with terminal(client, "command=ls&stderr=1") as shell:
        received = await shell.rest()

    assert sorted(received) == [2, 3]


async def test_large_output_arrives_in_pieces(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.on_exec(lambda _: b"x" * 1_000_000)

    async with terminal(client) as shell:
        assert len((await shell.rest())[1]) == 1_000_000


async def test_an_attached_client_is_connected_to_the_container(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.on_attach(lambda session: f"{session.container} {session.command}")

    async with terminal(client, "stdout=1&container=app", to="attach") as shell:
        assert (await shell.rest())[1] == b"app ()"


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("web/exec?command=ls", {}, "you must specify at least 1 of stdin, stdout, stderr"),
        ("web/exec?command=ls&stdout=1", {}, "Upgrade request required"),
        ("web/exec?stdout=1", {"upgrade": "SPDY/3.1", "connection": "Upgrade"}, "supported over SPDY"),
        ("web/exec?stdout=1", {"upgrade": "websocket", "connection": "Upgrade"}, "Sec-WebSocket-Key is missing"),
        ("web/exec?stdout=1&container=x", {}, "container x is not valid for pod web"),
        ("nope/exec?stdout=1", {}, 'pods "nope" not found'),
    ],
)
async def test_wrong_requests_are_errors(
    server: APIServer, client: httpx2.AsyncClient, path: str, headers: dict[str, str], message: str
) -> None:
    server.containers.on_exec(lambda _: 0)

    response = await client.get(f"{PODS}/{path}", headers=headers)

    assert response.status_code in {400, 404}
    assert message in response.json()["message"]


async def test_an_unknown_protocol_is_an_error(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.on_exec(lambda _: 0)
    headers = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13"}

    response = await client.get(
        f"{PODS}/web/exec?stdout=1", headers={**headers, "sec-websocket-key": "x", "sec-websocket-protocol": "chat"}
    )

    assert response.json()["message"] == (
        "none of the offered subprotocols chat is supported; supported are v5.channel.k8s.io, v4.channel.k8s.io"
    )


async def test_without_a_function_there_is_no_kubelet(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.on_exec(lambda _: 0)
    server.containers.on_exec(None)

    response = await client.get(f"{PODS}/web/exec?command=ls&stdout=1")

    assert response.json()["message"] == "pod web does not have a host assigned"
