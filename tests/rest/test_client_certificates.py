"""Client certificates, and the connections after they change."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

import pytest
import trio
import trustme

from dynkube.config import ClientCertificate, ClientConfig, Credential, TLSSettings
from dynkube.errors import ConnectFailed
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import serving

pytestmark = pytest.mark.real_time

GET = Request(method="GET", path="/version")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Certificates:
    """A source of the certificate that is set."""

    def __init__(self, certificate: ClientCertificate | None) -> None:
        self.credential = Credential(certificate=certificate)

    async def current(self) -> Credential:
        return self.credential

    async def refresh(self, rejected: Credential) -> Credential:
        return rejected


def issued(authority: trustme.CA, name: str) -> ClientCertificate:
    leaf = authority.issue_cert(common_name=name)
    return ClientCertificate(leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes())


def asking_for_certificates(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def send_common_name(stream: trio.abc.Stream, head: bytes) -> None:
    """Respond with the common name of the client; a watch stays open until the client sends something."""
    assert isinstance(stream, trio.SSLStream)
    subject = dict(pair[0] for pair in stream.getpeercert()["subject"])
    name = subject["commonName"].encode()
    await stream.send_all(CHUNKED + b"%x\r\n%s\r\n" % (len(name), name))
    if b"watch" in head:
        await stream.receive_some(1)
    else:
        await stream.send_all(b"0\r\n\r\n")


@pytest.mark.scenario("F24", "P13")
async def test_a_changed_certificate_is_used_by_new_connections_while_open_streams_continue() -> None:
    authority = trustme.CA()
    certificates = Certificates(issued(authority, "old"))
    async with serving(send_common_name, tls=asking_for_certificates(authority)) as server:
        config = ClientConfig(
            server=server.url("https", "localhost"),
            credentials=certificates,
            tls=TLSSettings(ca_data=authority.cert_pem.bytes()),
        )
        async with RESTClient(config) as client:
            watch = Request(method="GET", path="/version", params={"watch": "1"})
            async with client.stream(watch, watch=True) as stream:
                assert await anext(stream) == b"old"
                assert (await client.request(GET)).body == b"old"
                certificates.credential = Credential(certificate=issued(authority, "new"))

                assert (await client.request(GET)).body == b"new"
                assert (await client.request(GET)).body == b"new"
                assert not server.closed.is_set()
                with trio.move_on_after(0.05) as scope:
                    await anext(stream)
                assert scope.cancelled_caught

            assert server.connections == 3
            with trio.fail_after(5):
                await server.closed.wait()


async def test_an_equal_certificate_in_a_new_credential_keeps_the_connections() -> None:
    authority = trustme.CA()
    certificate = issued(authority, "same")
    certificates = Certificates(certificate)
    async with serving(send_common_name, tls=asking_for_certificates(authority)) as server:
        config = ClientConfig(
            server=server.url("https", "localhost"),
            credentials=certificates,
            tls=TLSSettings(ca_data=authority.cert_pem.bytes()),
        )
        async with RESTClient(config) as client:
            await client.request(GET)
            again = ClientCertificate(bytes(certificate.certificate_pem), bytes(certificate.key_pem))
            certificates.credential = Credential({"Authorization": "Bearer new"}, again)
            await client.request(GET)

        assert server.connections == 1


async def test_a_server_that_gets_no_certificate_is_reported_as_rejecting_it() -> None:
    authority = trustme.CA()
    context = asking_for_certificates(authority)
    listener = socket.create_server(("127.0.0.1", 0))

    def reject() -> None:  # the standard library's server sends the alert; trio's just closes the connection
        accepted, _ = listener.accept()
        with accepted.dup() as same:  # read on, as a reset would overtake the alert
            with suppress(ssl.SSLError):
                context.wrap_socket(accepted, server_side=True)
            while same.recv(4096):
                pass

    tls = TLSSettings(ca_data=authority.cert_pem.bytes())
    config = ClientConfig(server=f"https://localhost:{listener.getsockname()[1]}", tls=tls)
    async with RESTClient(config) as client, trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, reject)
        with listener, pytest.raises(ConnectFailed, match="the server rejected the client certificate"):
            await client.request(GET)
