"""Connections lost after a request was sent: it may have been carried out, so the error is not that of a connection
that was never established."""

from __future__ import annotations

import ssl

import pytest
import trio
import trustme

from dynkube.config import ClientConfig, TLSSettings
from dynkube.errors import ConnectFailed, ConnectionLost
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import Handler, serving

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/version")
WRITE = Request(method="POST", path="/api/v1/pods", body=b"{}")
ONCE = Limits(max_reconnects=0)
NO_RECORD = b"these bytes are no TLS record"


async def hang_up(stream: trio.abc.Stream, head: bytes) -> None:
    await stream.aclose()


async def break_tls(stream: trio.abc.Stream, head: bytes) -> None:
    assert isinstance(stream, trio.SSLStream)
    await stream.transport_stream.send_all(NO_RECORD)


async def break_tls_in_the_body(stream: trio.abc.Stream, head: bytes) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
    await break_tls(stream, head)


async def write_in_except_block(refused: RESTClient, client: RESTClient) -> None:
    try:
        await refused.request(GET)
    except ConnectFailed:
        await client.request(WRITE)


async def test_a_write_lost_while_another_error_is_handled_is_not_reported_as_never_sent() -> None:
    elsewhere = RESTClient(ClientConfig(server="http://127.0.0.1:1"), limits=ONCE)
    async with serving(hang_up) as server, elsewhere, RESTClient(ClientConfig(server=server.url())) as client:
        with pytest.raises(ConnectionLost, match=r"no response from 127\.0\.0\.1:\d+: ") as lost:
            await write_in_except_block(elsewhere, client)

    assert "refused" not in str(lost.value)


@pytest.mark.parametrize(
    ("handler", "said"),
    [(break_tls, "no response from"), (break_tls_in_the_body, "was truncated after 1 bytes: TLS failed")],
)
async def test_a_request_during_which_tls_breaks_is_lost(handler: Handler, said: str) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    async with serving(handler, tls=context) as server:
        tls = TLSSettings(ca_data=authority.cert_pem.bytes())
        async with RESTClient(ClientConfig(server=server.url("https", "localhost"), tls=tls)) as client:
            with pytest.raises(ConnectionLost, match=said) as lost:
                await client.request(WRITE)

    assert "http://" not in str(lost.value), "the port does use TLS"


async def test_a_read_is_repeated_if_the_connection_is_closed_during_the_handshake() -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    connections = []

    async def hang_up_at_first(raw: trio.SocketStream) -> None:
        connections.append(raw)
        async with raw:
            if len(connections) > 1:
                stream = trio.SSLStream(raw, context, server_side=True)
                await stream.receive_some()
                await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, hang_up_at_first, [listener])
        url = f"https://localhost:{listener.socket.getsockname()[1]}"
        config = ClientConfig(server=url, tls=TLSSettings(ca_data=authority.cert_pem.bytes()))
        async with RESTClient(config) as client:
            assert (await client.request(GET)).body == b"{}"
        nursery.cancel_scope.cancel()
