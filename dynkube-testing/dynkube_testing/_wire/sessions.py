"""Requests that connect to containers which a test plays: switches the connection, and serves it."""

from __future__ import annotations

from typing import Final

import trio

from dynkube_testing._asgi import Send
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call
from dynkube_testing._containers.connecting import Connections
from dynkube_testing._containers.played import Playing
from dynkube_testing._containers.sessions import PortFunction, SessionFunction
from dynkube_testing._wire import port_forwards, remote_commands
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.websocket import MessageStream, WebSocket, handshake

SESSIONS: Final = frozenset({"attach", "exec", "portforward"})
"""The subresources of pods for which there are sessions."""


async def serve_session(connections: Connections, request: HTTPRequest, call: Call, send: Send) -> bool:
    """Connect the client to a container; returns ``False`` if no function plays that.

    Raises:
        APIError: The error response to send; nothing has been sent yet.
    """
    if call.subresource == "portforward":
        ports = connections.open_ports(call)
        if ports is not None:
            await _forward_ports(request, ports, send)
        return ports is not None
    command = connections.open_session(call)
    if command is not None:
        await _run_command(request, command, send)
    return command is not None


async def _run_command(request: HTTPRequest, playing: Playing[SessionFunction], send: Send) -> None:
    options = remote_commands.CommandOptions.read(request)
    if request.requests_upgrade("spdy/3.1"):
        stream = await _upgrade_to_spdy(request, remote_commands.SPDY, send)
        await remote_commands.serve_spdy(stream, options, playing)
        return
    protocol, headers = handshake(request, remote_commands.PROTOCOLS)
    websocket = WebSocket(await _upgrade(request, headers, send))
    await remote_commands.serve_channels(websocket, protocol, options, playing)


async def _forward_ports(request: HTTPRequest, playing: Playing[PortFunction], send: Send) -> None:
    if request.requests_upgrade("spdy/3.1"):
        await port_forwards.serve_spdy(await _upgrade_to_spdy(request, port_forwards.SPDY, send), playing)
        return
    protocol, headers = handshake(request, (port_forwards.TUNNEL, port_forwards.CHANNELS))
    ports = port_forwards.read_ports(request) if protocol == port_forwards.CHANNELS else []
    websocket = WebSocket(await _upgrade(request, headers, send))
    if ports:
        await port_forwards.serve_channels(websocket, ports, playing)
        return
    stream = MessageStream(websocket)
    await port_forwards.serve_spdy(stream, playing)
    await stream.aclose()


async def _upgrade_to_spdy(request: HTTPRequest, protocol: str, send: Send) -> trio.abc.Stream:
    """Switch to SPDY, if the client offers ``protocol`` for what is on it."""
    offered = [each.strip() for each in request.headers.get("x-stream-protocol-version", "").split(",")]
    if protocol not in offered:
        raise refuse.bad_request(
            f"none of the offered protocols {', '.join(offered)} is supported over SPDY; supported is {protocol}"
        )
    headers = [(b"upgrade", b"SPDY/3.1"), (b"x-stream-protocol-version", protocol.encode())]
    return await _upgrade(request, headers, send)


async def _upgrade(request: HTTPRequest, headers: list[tuple[bytes, bytes]], send: Send) -> trio.abc.Stream:
    await send({"type": "http.response.start", "status": 101, "headers": [(b"connection", b"Upgrade"), *headers]})
    assert request.upgraded is not None, "checked before"
    return await request.upgraded()
