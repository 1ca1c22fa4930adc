"""Connections to ports of pods over WebSockets, with the protocol ``v4.channel.k8s.io``.

Each port has two channels, one for data and one for errors. The first message of each is the port.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import trio

from dynkube_testing._containers.pipes import PipeReader, PipeWriter, open_stream_pair
from dynkube_testing._containers.played import Playing
from dynkube_testing._containers.sessions import PortConnection, PortFunction
from dynkube_testing._wire import refusals
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.websocket import WebSocket

PROTOCOLS: Final = ("v4.channel.k8s.io",)

_logger = logging.getLogger("dynkube_testing")


def read_ports(request: HTTPRequest) -> list[int]:
    """Return the requested ports.

    Raises:
        BadRequest: There is no port, or one is not a port.
    """
    texts = [text for value in request.values("ports") for text in value.split(",")]
    if not texts:
        raise refusals.bad_request('query parameter "ports" is required')
    for text in texts:
        if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65_536):
            raise refusals.bad_request(f'unable to parse "{text}" as a port: it must be between 1 and 65535')
    return [int(text) for text in texts]


async def serve_ports(websocket: WebSocket, ports: Sequence[int], playing: Playing[PortFunction]) -> None:
    """Call the function that plays the ports, once for each port, connected to the client.

    If the client closes the WebSocket, the streams end, and the functions may finish.
    """
    inputs: list[trio.StapledStream[PipeWriter, PipeReader]] = []
    async with trio.open_nursery() as nursery:

        async def receive() -> None:
            while (message := await websocket.receive()) is not None:
                channel = message[0] if message else 1
                if channel % 2 == 0 and channel // 2 < len(inputs):
                    await _pass_on(inputs[channel // 2], message[1:])
            for each in inputs:
                await each.send_eof()

        async with trio.open_nursery() as functions:
            for index, port in enumerate(ports):
                ours, theirs = open_stream_pair()
                inputs.append(ours)
                for channel in (2 * index, 2 * index + 1):
                    await websocket.send(bytes([channel]) + port.to_bytes(2, "little"))
                connection = PortConnection(pod=playing.pod, port=port, stream=theirs)
                functions.start_soon(partial(_serve_port, websocket, index, connection, ours, playing.function))
            nursery.start_soon(receive)
        nursery.cancel_scope.cancel()
    await websocket.aclose()


async def _pass_on(stream: trio.StapledStream[PipeWriter, PipeReader], data: bytes) -> None:
    with suppress(trio.BrokenResourceError):  # the function has returned
        await stream.send_all(data)


async def _serve_port(
    websocket: WebSocket,
    index: int,
    connection: PortConnection,
    ours: trio.StapledStream[PipeWriter, PipeReader],
    function: PortFunction,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send_output, websocket, bytes([2 * index]), ours)
        try:
            await function(connection)
        except Exception as error:
            _logger.exception("the function that plays port %d failed", connection.port)
            message = f"an error occurred forwarding to port {connection.port}: {error!r}"
            await websocket.send(bytes([2 * index + 1]) + message.encode())
        finally:
            await trio.aclose_forcefully(connection.stream)


async def _send_output(websocket: WebSocket, channel: bytes, ours: trio.StapledStream[PipeWriter, PipeReader]) -> None:
    while data := await ours.receive_some():
        await websocket.send(channel + data)
