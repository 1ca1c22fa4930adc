"""Connections to ports of pods, played by functions of a test."""

from __future__ import annotations

import logging
from contextlib import suppress

import httpx2
import pytest
import trio
import trio.testing

import dynkube
from dynkube.errors import ClosedError, ConfigError, ConnectionLost, InvalidInput, NotFound, PodError, PortUnavailable
from dynkube.pods._port_forward import _splice
from dynkube_testing import APIServer, PortConnection
from tests.pods.kit import add, running_pod


async def echo(connection: PortConnection) -> None:
    """Send back what is received, after the port."""
    await connection.stream.send_all(f"{connection.port}:".encode())
    async for data in connection.stream:
        await connection.stream.send_all(data)


async def serve_http(connection: PortConnection) -> None:
    """Answer one request with its path; the client closes the connection."""
    while request := await connection.stream.receive_some():
        path = bytes(request).split()[1]
        await connection.stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path))


async def refuse(connection: PortConnection) -> None:
    raise ConnectionRefusedError("connection refused")


async def test_a_stream_to_a_port(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_port_forward(echo)

    async with web.connect(8080) as stream:
        assert (await stream.receive_some(2), await stream.receive_some()) == (b"80", b"80:")
        await stream.send_all(b"x" * 100_000)
        received = b""
        while len(received) < 100_000:
            received += await stream.receive_some()
        assert received == b"x" * 100_000
        await stream.aclose()
        with pytest.raises(ClosedError, match="was closed"):
            await stream.send_all(b"more")


async def test_at_least_one_byte_is_received_from_a_port(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_port_forward(echo)
    async with web.connect(8080) as stream:
        with pytest.raises(InvalidInput, match="max_bytes must be an integer >= 1, or None, not 0"):
            await stream.receive_some(0)
        assert await stream.receive_some() == b"8080:"


async def test_a_stream_ends_with_the_pods(server: APIServer, web: dynkube.Pod) -> None:
    async def greet(connection: PortConnection) -> None:
        await connection.stream.send_all(b"hello")

    server.containers.on_port_forward(greet)
    async with web.connect(80) as stream:
        assert [bytes(data) async for data in stream] == [b"hello"]


async def test_a_port_without_a_listener(server: APIServer, web: dynkube.Pod, caplog: pytest.LogCaptureFixture) -> None:
    server.containers.on_port_forward(refuse)

    async with web.connect(81) as stream:
        with pytest.raises(PortUnavailable, match=r"pod default/web: port 81 is not available: .*connection refused"):
            await stream.receive_some()
        assert await stream.receive_some() == b""


async def test_a_cut_stream(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_port_forward(echo)

    async with web.connect(80) as stream:
        assert await stream.receive_some() == b"80:"
        server.drop_connections()
        with pytest.raises(ConnectionLost):
            await stream.receive_some()


@pytest.mark.parametrize("port", [0, 65_536, "80", True])
async def test_what_is_no_port_is_refused(web: dynkube.Pod, port: int) -> None:
    with pytest.raises(InvalidInput, match="port must be an int between 1 and 65535"):
        web.connect(port)


@pytest.mark.real_time
async def test_requests_to_a_listener_are_answered(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_port_forward(serve_http)

    async with web.port_forward(80) as forward:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{forward.port}") as http:
            answers = [(await http.get(f"/{number}")).text for number in range(20)]
        assert repr(forward) == f"<PortForward 127.0.0.1:{forward.port}: 1 of 1 connections open, 0 failed>"

    assert answers == [f"/{number}" for number in range(20)]
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", forward.port)


@pytest.mark.real_time
async def test_a_client_that_has_sent_everything_gets_the_rest(server: APIServer, web: dynkube.Pod) -> None:
    async def slow(connection: PortConnection) -> None:
        await connection.stream.receive_some()
        await trio.sleep(0.05)
        await connection.stream.send_all(b"late")

    server.containers.on_port_forward(slow)
    async with web.port_forward(80) as forward, await trio.open_tcp_stream("127.0.0.1", forward.port) as client:
        await client.send_all(b"?")
        await client.send_eof()

        assert [bytes(data) async for data in client] == [b"late"]


async def test_a_client_that_has_closed_its_side_is_left_a_second_after_the_answer() -> None:
    client, local = trio.testing.memory_stream_pair()
    pod, remote = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_splice, local, remote)
        await client.send_all(b"question")
        await client.send_eof()
        assert await pod.receive_some() == b"question"

        await trio.sleep(29)
        await pod.send_all(b"answer")
        assert await client.receive_some() == b"answer"
        answered = trio.current_time()

    assert trio.current_time() - answered == pytest.approx(1)


@pytest.mark.real_time
async def test_connections_that_fail_are_counted_and_logged(
    server: APIServer, web: dynkube.Pod, caplog: pytest.LogCaptureFixture
) -> None:
    server.containers.on_port_forward(refuse)

    async with web.port_forward(81) as forward:
        for _ in range(2):
            async with await trio.open_tcp_stream("127.0.0.1", forward.port) as client:
                with suppress(trio.BrokenResourceError):
                    assert await client.receive_some() == b""
        assert (forward.connections, forward.active, forward.errors) == (2, 0, 2)
        assert isinstance(forward.last_error, PortUnavailable)

    logged = [each for each in caplog.records if each.name == "dynkube.pods" and each.levelno == logging.WARNING]
    assert len(logged) == 2


@pytest.mark.real_time
async def test_a_pod_that_is_gone_or_does_not_run_and_a_port_that_is_taken(
    server: APIServer, client: dynkube.Client
) -> None:
    add(server, running_pod("new", node=""))

    with pytest.raises(NotFound, match='pods "gone" not found'):
        async with client.pod("gone").port_forward(80):
            raise AssertionError
    with pytest.raises(PodError, match="its ports cannot be forwarded: the pod is Running: it has no node"):
        async with client.pod("new").port_forward(80):
            raise AssertionError
    async with client.pod("web").port_forward(80) as forward:
        with pytest.raises(ConfigError, match=r"cannot listen on address='127\.0\.0\.1', local_port="):
            async with client.pod("web").port_forward(80, local_port=forward.port):
                raise AssertionError
