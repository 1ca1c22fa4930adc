"""A server on the loopback interface that sends exactly the given bytes."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

Handler = Callable[[trio.abc.Stream, bytes], Awaitable[None]]


@dataclass
class Server:
    """The port of a server, its connections and the received heads."""

    port: int
    connections: int = 0
    heads: list[bytes] = field(default_factory=list)
    closed: trio.Event = field(default_factory=trio.Event)

    def url(self, scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}"


@asynccontextmanager
async def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Call ``handler`` with the stream and the head of each request; ``closed`` is set when a connection has ended."""
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        server = Server(listeners[0].socket.getsockname()[1])

        async def connection(raw: trio.SocketStream) -> None:
            server.connections += 1
            stream: trio.abc.Stream = raw
            if tls is not None:
                stream = trio.SSLStream(raw, tls, server_side=True, https_compatible=True)
            try:
                while head := await _head(stream):
                    server.heads.append(head)
                    await handler(stream, head)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            finally:
                server.closed.set()
                await trio.aclose_forcefully(raw)

        nursery.start_soon(trio.serve_listeners, connection, listeners)
        yield server
        nursery.cancel_scope.cancel()


def respond_with(*pieces: bytes) -> Handler:
    """Return a handler that sends the pieces one after the other."""

    async def handler(stream: trio.abc.Stream, head: bytes) -> None:
        for piece in pieces:
            await stream.send_all(piece)
            await trio.sleep(0.001)  # so that they are separate segments

    return handler


async def _head(stream: trio.abc.Stream) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = await stream.receive_some(1)
        if not data:
            return b""
        head += data
    return head
