"""Requests through a proxy."""

from __future__ import annotations

import base64
import ssl

import pytest
import trio
import trustme

from dynkube.config import ClientConfig, TLSSettings
from dynkube.errors import ConfigError, ConnectFailed
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import respond_with, serving

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/version")
OK = respond_with(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


async def tunnel(stream: trio.abc.Stream, head: bytes) -> None:
    """Serve a CONNECT request."""
    host, port = head.split()[1].decode().split(":")
    async with await trio.open_tcp_stream(host, int(port)) as other, trio.open_nursery() as nursery:
        await stream.send_all(ESTABLISHED)

        async def pump(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
            while data := await source.receive_some():
                await sink.send_all(data)
            nursery.cancel_scope.cancel()

        nursery.start_soon(pump, stream, other)
        nursery.start_soon(pump, other, stream)


async def test_https_uses_a_connect_tunnel_with_the_proxys_own_credentials() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    async with serving(OK, tls=context) as server, serving(tunnel) as proxy:
        config = ClientConfig(
            server=server.url("https", "localhost"),
            tls=TLSSettings(ca_data=authority.cert_pem.bytes()),
            proxy_url=f"http://user:s3cret@127.0.0.1:{proxy.port}",
        )
        async with RESTClient(config) as client:
            for _ in range(2):
                assert (await client.request(GET)).body == b"{}"

    assert proxy.connections == 1
    assert f"CONNECT localhost:{server.port}".encode() in proxy.heads[0]
    assert base64.b64encode(b"user:s3cret") in proxy.heads[0]
    assert b"proxy-authorization" not in server.heads[0].lower()


@pytest.mark.parametrize("silence", [0, 9], ids=["ends", "is silent"])
async def test_a_tunnel_that_fails_in_the_handshake_leaves_its_place_in_the_pool(silence: float) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    async def failing_at_first(stream: trio.abc.Stream, head: bytes) -> None:
        if proxy.connections == 1:
            await stream.send_all(ESTABLISHED)
            await trio.sleep(silence)
            await stream.aclose()
        else:
            await tunnel(stream, head)

    async with serving(OK, tls=context) as server, serving(failing_at_first) as proxy:
        tls = TLSSettings(ca_data=authority.cert_pem.bytes())
        config = ClientConfig(server=server.url("https", "localhost"), tls=tls, proxy_url=proxy.url())
        limits = Limits(max_connections=1, max_reconnects=0, connect_timeout=1)
        async with RESTClient(config, limits=limits, timeout=5) as client:
            with pytest.raises(ConnectFailed):
                await client.request(GET)
            assert (await client.request(GET)).body == b"{}"


async def test_the_error_of_a_proxy_names_it_without_its_password() -> None:
    rejecting = respond_with(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    async with serving(rejecting) as proxy:
        proxy_url = f"http://user:s3cret@127.0.0.1:{proxy.port}"
        async with RESTClient(ClientConfig(server="https://api.example:6443", proxy_url=proxy_url)) as client:
            with pytest.raises(
                ConnectFailed,
                match=rf"cannot connect to api.example:6443 through the proxy 127.0.0.1:{proxy.port}: 407 Proxy Auth",
            ) as caught:
                await client.request(GET)

    assert "s3cret" not in repr(caught.value)


async def test_the_proxy_of_the_environment_is_used_unless_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    async with RESTClient(ClientConfig(server="https://api.example"), limits=Limits(max_reconnects=0)) as client:
        with pytest.raises(ConnectFailed, match=r"api.example:443 through the proxy 127.0.0.1:1: Connection refused"):
            await client.request(GET)


@pytest.mark.parametrize("proxy", ["http://user:s3cret@proxy:port", "ftp://proxy", "http://", "http://[::1"])
def test_an_invalid_proxy_of_the_environment_is_an_error_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)

    with pytest.raises(ConfigError, match=r"^HTTPS_PROXY ") as caught:
        RESTClient(ClientConfig(server="https://api.example"))

    assert "s3cret" not in str(caught.value)


def test_the_error_for_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    server = "https://api.example"

    with pytest.raises(ConfigError, match=r"pip install 'dynkube\[http2\]'"):
        RESTClient(ClientConfig(server=server), http2=True)
    with pytest.raises(ConfigError, match=r"pip install 'httpx2\[socks\]'"):
        RESTClient(ClientConfig(server=server, proxy_url="socks5://127.0.0.1:1080"))
