"""WebSockets: over the connections, credentials and limits of all other requests."""

from __future__ import annotations

import base64
import ssl
from typing import Any

import httpx2
import pytest
import trio
import trio.testing
import trustme
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong

from dynkube.config import ClientConfig, Impersonation, TLSSettings
from dynkube.errors import ClosedError, ConnectionLost, DynkubeError, Forbidden, ProtocolError
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube.rest._websocket import WebSocket
from dynkube.telemetry import Observer, Observers, RequestInfo, RequestOutcome
from tests.rest.sockets import serving
from tests.rest.test_credentials import Rotating
from tests.rest.test_proxies import tunnel
from tests.rest.websockets import InMemory, Peer, switching
from tests.rest.wire import MakeClient, Wire, status

EXEC = Request(method="GET", path="/api/v1/namespaces/a/pods/b/exec", params={"command": ["ls", "-l"], "stdout": "1"})


async def echo(peer: Peer) -> None:
    """Send back each message, and close when the client does."""
    while (event := await peer.next()) is not None:
        match event:
            case BytesMessage():
                await peer.send(bytes(event.data), ends=event.message_finished)
            case CloseConnection():
                await peer.write(event.response())
                return


async def message(websocket: WebSocket) -> bytes | None:
    """Return the next message; ``None`` if the WebSocket was closed."""
    data = b""
    while (piece := await websocket.receive()) is not None:
        data += piece.data
        if piece.ends:
            return data
    return None


@pytest.mark.real_time
@pytest.mark.parametrize("http2", [False, True])
async def test_it_goes_through_tls_and_the_proxy(http2: bool) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2", "http/1.1"])
    authority.issue_cert("localhost").configure_cert(context)
    async with serving(switching(echo), tls=context) as server, serving(tunnel) as proxy:
        config = ClientConfig(
            server=server.url("https", "localhost"),
            tls=TLSSettings(ca_data=authority.cert_pem.bytes()),
            proxy_url=f"http://user:s3cret@127.0.0.1:{proxy.port}",
            impersonate=Impersonation(user="jane"),
        )
        async with RESTClient(config, http2=http2) as client, client.websocket(EXEC, ["other", "echo"]) as websocket:
            await websocket.send(b"x" * 300_000)
            assert await message(websocket) == b"x" * 300_000
            assert websocket.subprotocol == "echo"

    assert base64.b64encode(b"user:s3cret") in proxy.heads[0]
    assert server.heads[0].startswith(b"GET /api/v1/namespaces/a/pods/b/exec?command=ls&command=-l&stdout=1 HTTP/1.1")
    assert b"impersonate-user: jane" in server.heads[0].lower()
    assert b"sec-websocket-protocol: other, echo" in server.heads[0].lower()


@pytest.mark.real_time
async def test_what_comes_with_the_response_head_is_received() -> None:
    first = b"0123456789" * 20_000  # more than a head may have
    async with (
        serving(switching(echo, first=first)) as server,
        RESTClient(ClientConfig(server=server.url())) as client,
        client.websocket(EXEC, ["echo"]) as websocket,
    ):
        assert await message(websocket) == first


@pytest.mark.real_time
async def test_leaving_the_block_closes_the_connection() -> None:
    last: list[Event | None] = []

    async def play(peer: Peer) -> None:
        last.append(await peer.next())

    async with serving(switching(play)) as server, RESTClient(ClientConfig(server=server.url())) as client:
        async with client.websocket(EXEC, ["echo"]):
            assert client.statistics().open_streams == 1
        await server.closed.wait()

        assert (client.statistics().open_streams, client.statistics().connections) == (0, 0)
    assert [type(event) for event in last] == [CloseConnection]


async def test_pings_are_answered_and_sent(make_client: MakeClient, nursery: trio.Nursery) -> None:
    received: list[object] = []

    async def play(peer: Peer) -> None:
        await peer.write(Ping(b"there?"))
        received.extend([await peer.next(), await peer.next(), trio.current_time()])
        await peer.close()

    async with make_client(InMemory(nursery, play)).websocket(EXEC, ["echo"]) as websocket:
        began = trio.current_time()
        assert await message(websocket) is None
        assert received == [Pong(b"there?"), Ping(), began + 30]


async def test_a_ping_is_answered_after_the_message_that_is_being_sent(
    make_client: MakeClient, nursery: trio.Nursery
) -> None:
    received: list[object] = []

    async def read_late(peer: Peer) -> None:
        await trio.sleep(1)  # the client sends meanwhile
        await peer.write(Ping(b"there?"))
        await peer.send(b"out")
        received.extend([await peer.next(), await peer.next()])
        await peer.close()

    async with make_client(InMemory(nursery, read_late)).websocket(EXEC, ["echo"]) as websocket:
        nursery.start_soon(websocket.send, b"in")
        assert await message(websocket) == b"out"
        assert await message(websocket) is None

    assert received == [BytesMessage(bytearray(b"in")), Pong(b"there?")]


async def test_a_receive_that_is_cancelled_before_its_pong_was_read_does_not_end_sending(
    make_client: MakeClient, nursery: trio.Nursery
) -> None:
    received: list[object] = []

    async def read_late(peer: Peer) -> None:
        await peer.write(Ping(b"there?"))
        await trio.sleep(10)
        received.extend([await peer.next(), await peer.next()])
        await peer.close()

    async with make_client(InMemory(nursery, read_late)).websocket(EXEC, ["echo"]) as websocket:
        with trio.move_on_after(5):
            await websocket.receive()
        await websocket.send(b"in")
        assert await message(websocket) is None

    assert received == [Pong(b"there?"), BytesMessage(bytearray(b"in"))]


async def cut(peer: Peer) -> None:
    await peer.send(b"half", ends=False)


async def garbage(peer: Peer) -> None:
    await peer.stream.send_all(b"\xff" * 10)


@pytest.mark.parametrize(
    ("play", "error", "text"),
    [
        (cut, ConnectionLost, "ended the connection without closing it"),
        (garbage, ProtocolError, "invalid WebSocket frames"),
    ],
)
async def test_a_cut_or_broken_stream_is_an_error(
    make_client: MakeClient, nursery: trio.Nursery, play: Any, error: type[DynkubeError], text: str
) -> None:
    client = make_client(InMemory(nursery, play))
    with pytest.raises(error, match=text):
        async with client.websocket(EXEC, ["echo"]) as websocket:
            await message(websocket)

    assert text in client.statistics().last_error


async def test_a_closed_client_and_new_connections_end_it(make_client: MakeClient, nursery: trio.Nursery) -> None:
    async def play(peer: Peer) -> None:
        await peer.next()

    client = make_client(InMemory(nursery, play))
    async with client.websocket(EXEC, ["echo"]) as websocket:
        nursery.start_soon(client.renew_connections, "the machine slept")
        with pytest.raises(ConnectionLost, match="the machine slept"):
            await websocket.receive()
    async with client.websocket(EXEC, ["echo"]) as websocket:
        await client.aclose()
        await websocket._exchange._response.stream.aclose()  # type: ignore[union-attr]  # as a pool's connections are
        with pytest.raises(ClosedError, match="the client was closed"):
            await websocket.receive()


async def test_no_more_can_be_sent_after_a_cancelled_send(make_client: MakeClient, nursery: trio.Nursery) -> None:
    async def ignore(_: Peer) -> None:
        await trio.sleep_forever()

    async with make_client(InMemory(nursery, ignore)).websocket(EXEC, ["echo"]) as websocket:
        with trio.move_on_after(5):
            await websocket.send(b"x")

        with pytest.raises(ClosedError, match="an earlier send was cancelled"):
            await websocket.send(b"y")


async def test_a_server_that_closes_and_reads_nothing_more_does_not_block_the_receiver(
    make_client: MakeClient, nursery: trio.Nursery
) -> None:
    async def close(peer: Peer) -> None:
        await peer.close()
        await trio.sleep_forever()

    async with make_client(InMemory(nursery, close)).websocket(EXEC, ["echo"]) as websocket:
        nursery.start_soon(websocket.send, b"is not read")
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()

        assert await message(websocket) is None
        assert trio.current_time() == began + 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (httpx2.Response(200, json={}), "HTTP 200 instead of a WebSocket"),
        (httpx2.Response(302, headers={"location": "https://login.example/"}), "redirected"),
        (httpx2.Response(101), "cannot switch protocols"),
        (httpx2.Response(101, extensions={"network_stream": object()}), "Sec-WebSocket-Accept is wrong"),
    ],
)
async def test_other_responses_are_errors(make_client: MakeClient, response: httpx2.Response, text: str) -> None:
    with pytest.raises(ProtocolError, match=text):
        async with make_client(Wire(response)).websocket(EXEC, ["echo"]):
            raise AssertionError


async def test_a_subprotocol_that_was_not_offered_is_an_error(make_client: MakeClient, nursery: trio.Nursery) -> None:
    with pytest.raises(ProtocolError, match="the server chose the subprotocol 'echo'; offered: v5, v4"):
        async with make_client(InMemory(nursery, echo)).websocket(EXEC, ["v5", "v4"]):
            raise AssertionError


async def test_a_refusal_is_the_servers_error(make_client: MakeClient) -> None:
    body = status(403, "Forbidden", "no")
    wire = Wire(httpx2.Response(403, content=body, headers={"content-type": "application/json"}))

    with pytest.raises(Forbidden, match="no"):
        async with make_client(wire).websocket(EXEC, ["echo"]):
            raise AssertionError


async def test_a_lost_request_is_not_repeated_as_it_may_have_begun(make_client: MakeClient) -> None:
    wire = Wire(httpx2.ReadError("reset"))

    with pytest.raises(ConnectionLost):
        async with make_client(wire).websocket(EXEC, ["echo"]):
            raise AssertionError
    assert len(wire.requests) == 1


async def test_observers_see_the_opening(make_client: MakeClient, nursery: trio.Nursery) -> None:
    class Seen(Observer):
        def request_finished(self, info: RequestInfo, outcome: RequestOutcome) -> None:
            seen.append((info.verb, info.subresource, outcome.code))

    seen: list[tuple[str, str, int | None]] = []
    client = make_client(InMemory(nursery, echo), observers=Observers([Seen()]))
    async with client.websocket(EXEC, ["echo"]):
        assert seen == [("connect", "exec", 101)]


async def test_a_rejected_token_is_refreshed(make_client: MakeClient, nursery: trio.Nursery) -> None:
    switch = InMemory(nursery, echo)
    wire = Wire(httpx2.Response(401, content=status(401, "Unauthorized")), switch.handle_async_request)
    config = ClientConfig(server="https://api.example", credentials=Rotating("old", "new"))

    async with make_client(wire, config=config).websocket(EXEC, ["echo"]):
        assert [each.headers["authorization"] for each in wire.requests] == ["Bearer old", "Bearer new"]
