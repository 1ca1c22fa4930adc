"""Servers that cannot be reached or are not trusted: the error says which of both, and why."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trio
import trustme

from dynkube.config import ClientConfig, TLSSettings
from dynkube.errors import ConnectFailed
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import Server, respond_with, serving

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/version")
OK = respond_with(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
ONCE = Limits(max_reconnects=0)


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


def server_side(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def client_of(server: Server, tls: TLSSettings, *, scheme: str = "https") -> RESTClient:
    return RESTClient(ClientConfig(server=server.url(scheme, "localhost"), tls=tls), limits=ONCE)


async def test_a_server_whose_authority_is_trusted_is_reached(authority: trustme.CA) -> None:
    tls = TLSSettings(ca_data=authority.cert_pem.bytes())

    async with serving(OK, tls=server_side(authority)) as server, client_of(server, tls) as client:
        assert (await client.request(GET)).body == b"{}"


async def test_an_unknown_authority_is_named_as_the_reason(authority: trustme.CA) -> None:
    tls = TLSSettings(ca_data=trustme.CA().cert_pem.bytes())

    async with serving(OK, tls=server_side(authority)) as server, client_of(server, tls) as client:
        with pytest.raises(
            ConnectFailed,
            match=rf"GET /version: cannot connect to localhost:{server.port}: the server's TLS certificate cannot be "
            r"verified: unable to get local issuer certificate; check the certificate authority",
        ):
            await client.request(GET)


async def test_a_certificate_with_another_name_is_an_error_that_suggests_the_server_name(authority: trustme.CA) -> None:
    authorities = authority.cert_pem.bytes()
    settings = TLSSettings(ca_data=authorities, server_name="kubernetes.default")

    async with serving(OK, tls=server_side(authority, "kubernetes.default")) as server:
        async with client_of(server, TLSSettings(ca_data=authorities)) as client:
            with pytest.raises(ConnectFailed, match=r"Hostname mismatch.*'localhost'; .* tls-server-name"):
                await client.request(GET)
        async with client_of(server, settings) as client:
            assert (await client.request(GET)).status == 200


@pytest.mark.scenario("F24")
async def test_a_ca_file_that_was_replaced_is_read_after_the_first_failure(
    authority: trustme.CA, tmp_path: Path
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(trustme.CA().cert_pem.bytes())
    tls = TLSSettings(ca_file=str(file))

    async with serving(OK, tls=server_side(authority)) as server, client_of(server, tls) as client:
        with pytest.raises(ConnectFailed):
            await client.request(GET)
        file.write_bytes(authority.cert_pem.bytes())

        assert (await client.request(GET)).status == 200


async def test_the_error_for_tls_to_a_plain_http_port_suggests_the_scheme() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")

    async def connection(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, connection, listeners)
        async with client_of(Server(listeners[0].socket.getsockname()[1]), TLSSettings()) as client:
            with pytest.raises(ConnectFailed, match=r"does not use TLS .*http://\?"):
                await client.request(GET)
        nursery.cancel_scope.cancel()


async def test_the_error_for_a_refused_connection_says_where_the_address_came_from() -> None:
    config = ClientConfig(server="https://127.0.0.1:1", source="kubeconfig /k, context 'kind'")

    async with RESTClient(config, limits=ONCE) as client:
        with pytest.raises(
            ConnectFailed,
            match=r"cannot connect to 127.0.0.1:1: Connection refused \(server from kubeconfig /k, context 'kind'\)",
        ):
            await client.request(GET)


async def test_a_host_name_that_cannot_be_resolved_is_explained() -> None:
    async with RESTClient(ClientConfig(server="https://nowhere.invalid"), limits=ONCE) as client:
        with pytest.raises(
            ConnectFailed, match=r"cannot connect to nowhere.invalid:443: the host name cannot be resolved"
        ):
            await client.request(GET)


@pytest.mark.scenario("F26")
async def test_an_unfinished_handshake_ends_at_the_connect_timeout() -> None:
    async def mute(stream: trio.abc.Stream, head: bytes) -> None:
        await trio.sleep_forever()

    async with serving(mute) as server:
        config = ClientConfig(server=server.url("https"))
        async with RESTClient(config, limits=Limits(connect_timeout=0.05)) as client:
            with pytest.raises(ConnectFailed, match="connecting timed out"):
                await client.request(GET)


@pytest.mark.parametrize(
    ("alert", "reason"),
    [
        (40, r"TLS failed: .*ALERT_HANDSHAKE_FAILURE"),
        (70, r"TLS failed: .*ALERT_PROTOCOL_VERSION"),
        (48, r"the server rejected the client certificate \(.*UNKNOWN_CA\)"),
        (42, r"the server rejected the client certificate \(.*BAD_CERTIFICATE\)"),
    ],
)
async def test_only_a_tls_alert_about_certificates_blames_the_client_certificate(alert: int, reason: str) -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")

    async def connection(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(bytes([21, 3, 3, 0, 2, 2, alert]))  # a fatal alert of TLS 1.2
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, connection, listeners)
        async with client_of(Server(listeners[0].socket.getsockname()[1]), TLSSettings()) as client:
            with pytest.raises(ConnectFailed, match=reason):
                await client.request(GET)
        nursery.cancel_scope.cancel()
