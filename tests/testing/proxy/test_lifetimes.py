"""An end on one side of the proxy ends the other side in the same way, and no task or socket remains."""

from __future__ import annotations

import gc
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
import trio

from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import APIServer, ControlPlane, Endpoint, FaultProxy
from dynkube_testing._asgi import Receive, Scope, Send
from tests.testing.proxy.kit import TIMEOUT, WATCH, connected, serving

pytestmark = pytest.mark.real_time


def trusted(proxy: FaultProxy) -> ssl.SSLContext:
    assert proxy.endpoint.ca_pem is not None
    return ssl.create_default_context(cadata=proxy.endpoint.ca_pem.decode("ascii"))


def sockets() -> set[str]:
    """Return the open sockets of this process."""
    gc.collect()
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(descriptor.readlink()))
        except OSError:
            continue  # the descriptor of the folder itself
    return {link for link in links if link.startswith("socket:")}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="sockets are counted in /proc")
async def test_leaving_the_block_leaves_no_task_and_no_socket() -> None:
    before, tasks = sockets(), trio.lowlevel.current_statistics().tasks_living
    async with APIServer() as server, server.serve() as upstream, AsyncExitStack() as clients:
        async with FaultProxy(upstream) as proxy:
            watching, idle = [await clients.enter_async_context(connected(proxy.endpoint)) for _ in range(2)]
            await watching.get(WATCH)
            await watching.read_until(b"\r\n\r\n")
            await idle.get("/version")
            await idle.read_until(b"}")

        assert await watching.read_to_end() == b""
        assert await idle.read_to_end() == b""
        with trio.fail_after(TIMEOUT):
            await server.wait_open_watches(0)
    assert trio.lowlevel.current_statistics().tasks_living == tasks
    assert sockets() == before


async def test_a_client_that_disconnects_ends_the_tls_handshake_with_the_upstream() -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    upstream = Endpoint(url=f"https://127.0.0.1:{listener.socket.getsockname()[1]}")
    async with listener, FaultProxy(upstream) as proxy, httpx2.AsyncClient(verify=trusted(proxy)) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.get, proxy.url)
            behind = await listener.accept()
            assert await behind.receive_some(), "the ClientHello of TLS, which gets no response"
            nursery.cancel_scope.cancel()

        async with behind:
            with trio.fail_after(TIMEOUT):
                assert await behind.receive_some() == b""


async def test_a_client_that_disconnects_ends_its_watch_at_once(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.read_until(b"\r\n\r\n")
        assert len(server.open_watches) == len(proxy.open_watches) == 1

    with trio.fail_after(TIMEOUT):
        await server.wait_open_watches(0)
        await proxy.wait_open_watches(0)


async def test_a_client_that_disconnects_ends_a_request_without_a_response() -> None:
    begun, ended = trio.Event(), trio.Event()

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    async with serving(never) as upstream, FaultProxy(upstream) as proxy:
        async with connected(proxy.endpoint) as connection:
            await connection.get("/")
            await begun.wait()

        with trio.fail_after(TIMEOUT):
            await ended.wait()


@pytest.mark.parametrize(("how", "last"), [("clean", b"\r\n0\r\n\r\n"), ("cut", b"")])
async def test_a_watch_ends_in_the_way_in_which_the_upstream_ends_it(
    server: APIServer, proxy: FaultProxy, how: str, last: bytes
) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.read_until(b"\r\n\r\n")
        server.end_watches(how=how)  # type: ignore[arg-type]  # from the parameters

        if how == "clean":
            assert await connection.read_until(b"0\r\n\r\n") == b"0\r\n\r\n"
        else:
            assert await connection.read_to_end() == last


async def test_a_truncated_body_stays_truncated() -> None:
    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"10")]})
        await send({"type": "http.response.body", "body": b"12345", "more_body": True})

    async with serving(half) as upstream, FaultProxy(upstream) as proxy, httpx2.AsyncClient() as client:
        with pytest.raises(httpx2.RemoteProtocolError, match="without sending complete"):
            await client.get(proxy.url)


async def test_one_warning_is_logged_for_an_upstream_that_was_never_reached(caplog: pytest.LogCaptureFixture) -> None:
    async with FaultProxy(url="http://127.0.0.1:1") as proxy, httpx2.AsyncClient() as client:
        for _ in range(3):
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.get(f"{proxy.url}/version")

    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].startswith("the API server at 127.0.0.1:1 cannot be reached: ")
    assert warnings[0].endswith("; check its address and ca_pem")


async def test_without_an_upstream_the_connection_ends_without_a_response(server: APIServer) -> None:
    async with httpx2.AsyncClient() as client:
        async with server.serve() as upstream:
            port = int(upstream.url.rpartition(":")[2])
            proxy = FaultProxy(upstream)
            await proxy.__aenter__()
            assert (await client.get(f"{proxy.url}/version")).status_code == 200
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(f"{proxy.url}/version")

        async with server.serve(port=port):
            assert (await client.get(f"{proxy.url}/version")).status_code == 200
        await proxy.__aexit__(None, None, None)


async def test_an_exception_in_the_block_is_not_wrapped(upstream: Endpoint) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with FaultProxy(upstream):
            raise KeyError("mine")


async def test_a_proxy_can_be_entered_only_once_and_used_only_inside_its_block(upstream: Endpoint) -> None:
    proxy = FaultProxy(upstream)
    with pytest.raises(ClosedError, match="not running"):
        proxy.refuse_connections()
    async with proxy:
        pass

    with pytest.raises(ClosedError, match="not running"):
        _ = proxy.url
    with pytest.raises(ClosedError, match="create a new one"):
        await proxy.__aenter__()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pass the API server"),
        ({"upstream": "https://127.0.0.1:1"}, "or url='https://127.0.0.1:1'"),
        ({"upstream": 7}, "the upstream is 7; pass an Endpoint"),
        ({"upstream": Endpoint(url="http://x"), "url": "http://x"}, "pass one"),
        ({"upstream": Endpoint(url="http://x"), "token": "t"}, "pass one"),
        ({"url": "127.0.0.1:6443"}, "is not an API server's URL"),
        ({"url": "https://"}, "is not an API server's URL"),
        ({"url": "https://x:y"}, "is not an API server's URL"),
        ({"url": "https://me:secret@x"}, "is not an API server's URL"),
        ({"url": "https://x?a=b"}, "is not an API server's URL"),
        ({"url": "https://x", "ca_pem": "text"}, "ca_pem must be the bytes"),
    ],
)
def test_invalid_upstreams_are_rejected(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        FaultProxy(**arguments)  # type: ignore[arg-type]  # invalid on purpose


async def test_invalid_certificates_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="ca_pem contains no PEM certificates"):
        await FaultProxy(url="https://x", ca_pem=b"nonsense").__aenter__()
    with pytest.raises(InvalidInput, match="do not match"):
        await FaultProxy(Endpoint(url="https://x", certificate_pem=b"nonsense")).__aenter__()


async def test_a_control_plane_that_is_not_running_is_rejected() -> None:
    with pytest.raises(ClosedError, match="the control plane is not running"):
        FaultProxy(ControlPlane())
