"""Protocol errors of an HTTP/2 server are attributed to the server, and only valid status codes are accepted."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable

import h2.config
import h2.connection
import pytest
import trio
import trustme

from dynkube.config import ClientConfig, TLSSettings
from dynkube.errors import ProtocolError, TransportError
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import respond_with, serving

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/api/v1/pods")
Respond = Callable[[h2.connection.H2Connection], bytes | None]


def status(code: str) -> Respond:
    return lambda server: server.send_headers(1, [(":status", code)], end_stream=True)


RESPONSES: dict[str, tuple[Respond, str]] = {
    "no number": (status("abc"), "not a valid HTTP/2 response"),
    "too large": (status("999"), "invalid HTTP status 999"),
    "far too large": (status("2000"), "invalid HTTP status 2000"),
    "negative": (status("-5"), "invalid HTTP status -5"),
    "data for no stream": (lambda server: b"\0\0\1\0\0\0\0\0\0x", "not HTTP/2: .*ProtocolError"),
    "an unknown stream": (lambda server: b"\0\0\1\0\0\0\0\0\x09x", "not HTTP/2: .*Error"),
}


@pytest.mark.parametrize(("respond", "message"), RESPONSES.values(), ids=RESPONSES.keys())
async def test_a_protocol_error_of_the_server_is_not_attributed_to_the_request(respond: Respond, message: str) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    context.set_alpn_protocols(["h2"])

    async def serve(raw: trio.SocketStream) -> None:
        stream = trio.SSLStream(raw, context, server_side=True, https_compatible=True)
        settings = h2.config.H2Configuration(client_side=False, validate_outbound_headers=False)
        server = h2.connection.H2Connection(settings)
        server.initiate_connection()
        while not server.highest_inbound_stream_id:
            server.receive_data(await stream.receive_some())
        rest = respond(server) or b""
        await stream.send_all(server.data_to_send() + rest)
        await trio.sleep(0.5)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(functools.partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        url = f"https://localhost:{listener.socket.getsockname()[1]}"
        tls = TLSSettings(ca_data=authority.cert_pem.bytes())
        async with RESTClient(ClientConfig(server=url, tls=tls), http2=True) as client:
            with pytest.raises(TransportError, match=message) as caught:
                await client.request(GET)
        nursery.cancel_scope.cancel()

    assert isinstance(caught.value, ProtocolError)
    assert "the request is not valid" not in str(caught.value)


@pytest.mark.parametrize("line", ["HTTP/1.1 999 X", "HTTP/1.1 600 X", "HTTP/1.1 2000 X", "HTTP/1.1 000 X"])
async def test_an_invalid_status_code_is_a_protocol_error(line: str) -> None:
    response = f"{line}\r\nContent-Length: 2\r\nRetry-After: 0\r\n\r\n{{}}".encode()
    async with serving(respond_with(response)) as server, RESTClient(ClientConfig(server=server.url())) as client:
        with pytest.raises(ProtocolError):
            await client.request(GET)

    assert len(server.heads) == 1
