"""Connections to ports of pods: over WebSockets with channels, or over SPDY, also inside a WebSocket.

- With ``v4.channel.k8s.io`` the ports are parameters of the request, and each is connected once. Each has a channel for
  data and one for errors, whose first message is the port.
- With SPDY the client opens two streams for each connection, whose headers have its number and the port: first one for
  errors, then one for data. kubectl uses it inside a WebSocket since 1.31.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

import trio

from dynkube_testing._calls import refuse
from dynkube_testing._containers.pipes import PipeReader, PipeWriter, open_stream_pair
from dynkube_testing._containers.played import Playing
from dynkube_testing._containers.sessions import PortConnection, PortFunction
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.spdy import SpdyConnection, SpdyError, SpdyStream
from dynkube_testing._wire.websocket import WebSocket

CHANNELS: Final = "v4.channel.k8s.io"
TUNNEL: Final = "SPDY/3.1+portforward.k8s.io"
SPDY: Final = "portforward.k8s.io"

_logger = logging.getLogger("dynkube_testing")

_Stream = trio.StapledStream[PipeWriter, PipeReader]


def read_ports(request: HTTPRequest) -> list[int]:
    """Return the ports in the parameters of a request.

    Raises:
        BadRequest: There is no port, or one is not a port.
    """
    texts = [text for value in request.values("ports") for text in value.split(",")]
    if not texts:
        raise refuse.bad_request('query parameter "ports" is required')
    ports = [_port(text) for text in texts]
    for text, port in zip(texts, ports, strict=True):
        if port is None:
            raise refuse.bad_request(f'unable to parse "{text}" as a port: it must be between 1 and 65535')
    return [port for port in ports if port is not None]


def _port(text: str) -> int | None:
    valid = text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65_536
    return int(text) if valid else None


async def serve_channels(websocket: WebSocket, ports: Sequence[int], playing: Playing[PortFunction]) -> None:
    """Call the function that plays the ports, once for each port, connected to the client.

    If the client closes the WebSocket, the streams end, and the functions may finish.
    """
    inputs: list[_Stream] = []
    async with trio.open_nursery() as nursery:

        async def receive() -> None:
            while (message := await websocket.receive()) is not None:
                channel = message[0] if message else 1
                if channel % 2 == 0 and channel // 2 < len(inputs):
                    with suppress(trio.BrokenResourceError):  # the function has returned
                        await inputs[channel // 2].send_all(message[1:])
            for each in inputs:
                await each.send_eof()

        async with trio.open_nursery() as functions:
            for index, port in enumerate(ports):
                client = _Channels(websocket, index)
                await client.begin(port)
                ours, theirs = open_stream_pair()
                inputs.append(ours)
                functions.start_soon(_play, client, port, ours, theirs, playing)
            nursery.start_soon(receive)
        nursery.cancel_scope.cancel()
    await websocket.aclose()


async def serve_spdy(transport: trio.abc.Stream, playing: Playing[PortFunction]) -> None:
    """Call the function that plays the ports for each connection that the client opens over SPDY."""
    errors: dict[str, SpdyStream] = {}
    async with trio.open_nursery() as nursery:

        def accept(stream: SpdyStream) -> bool:
            kind, number = stream.headers.get("streamtype"), stream.headers.get("requestid", "")
            port = _port(stream.headers.get("port", ""))
            if kind == "error" and number not in errors:
                errors[number] = stream
                return True
            if kind != "data" or port is None or number not in errors:
                return False
            nursery.start_soon(_serve_stream, errors.pop(number), stream, port, playing)
            return True

        try:
            await SpdyConnection(transport).run(accept)
        except SpdyError:
            _logger.warning("a client that forwards ports has sent malformed SPDY", exc_info=True)


async def _serve_stream(errors: SpdyStream, data: SpdyStream, port: int, playing: Playing[PortFunction]) -> None:
    ours, theirs = open_stream_pair()
    async with trio.open_nursery() as nursery:

        async def pass_on() -> None:
            with suppress(trio.BrokenResourceError):  # the function has returned
                async for piece in data.received:
                    await ours.send_all(piece)
                await ours.send_eof()

        nursery.start_soon(pass_on)
        await _play(_Streams(data, errors), port, ours, theirs, playing)
        nursery.cancel_scope.cancel()


class _Client(Protocol):
    """Where the output of a function goes."""

    async def send(self, data: bytes) -> None: ...

    async def fail(self, message: bytes) -> None: ...

    async def end(self) -> None: ...


class _Channels:
    """Two channels of a WebSocket."""

    def __init__(self, websocket: WebSocket, index: int) -> None:
        self._websocket = websocket
        self._data, self._errors = bytes([2 * index]), bytes([2 * index + 1])

    async def begin(self, port: int) -> None:
        for channel in (self._data, self._errors):
            await self._websocket.send(channel + port.to_bytes(2, "little"))

    async def send(self, data: bytes) -> None:
        await self._websocket.send(self._data + data)

    async def fail(self, message: bytes) -> None:
        await self._websocket.send(self._errors + message)

    async def end(self) -> None:
        await trio.lowlevel.checkpoint()  # the protocol has no message for it


class _Streams:
    """Two streams of SPDY."""

    def __init__(self, data: SpdyStream, errors: SpdyStream) -> None:
        self._data = data
        self._errors = errors

    async def send(self, data: bytes) -> None:
        await self._data.send(data)

    async def fail(self, message: bytes) -> None:
        await self._errors.send(message)

    async def end(self) -> None:
        await self._errors.end()
        await self._data.end()


async def _play(client: _Client, port: int, ours: _Stream, theirs: _Stream, playing: Playing[PortFunction]) -> None:
    """Call the function with its end of the connection, and send the client what comes out of the other end."""

    async def send_output() -> None:
        while data := await ours.receive_some():
            await client.send(bytes(data))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_output)
        try:
            await playing.function(PortConnection(pod=playing.pod, port=port, stream=theirs))
        except Exception as error:
            _logger.exception("the function that plays port %d failed", port)
            await client.fail(f"an error occurred forwarding to port {port}: {error!r}".encode())
        finally:
            await trio.aclose_forcefully(theirs)
    await client.end()
