"""Commands in containers over WebSockets: the protocols ``v5.channel.k8s.io`` and ``v4.channel.k8s.io``.

Each message begins with the number of a channel. On the error channel the server sends a Status at the end, which has
the exit code. In v5 a client can close its stdin, by a message of the byte 255 and the channel (KEP-4006).
"""

from __future__ import annotations

import inspect
import logging
from contextlib import suppress
from typing import Any, Final

import msgspec
import trio

from dynkube_testing._containers.pipes import PipeWriter, open_pipe
from dynkube_testing._containers.played import Playing
from dynkube_testing._containers.sessions import ContainerSession, Output, SessionFunction, TerminalSizes
from dynkube_testing._wire import refusals
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.websocket import WebSocket

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")

_logger = logging.getLogger("dynkube_testing")

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_CHUNK: Final = 32 * 1024  # of output in one message
_SUCCESS: Final = {"metadata": {}, "status": "Success"}


def check_streams(request: HTTPRequest) -> None:
    """Check that the request names a stream.

    Raises:
        BadRequest: It names none of stdin, stdout and stderr.
    """
    if not any(request.flag(name) for name in ("stdin", "stdout", "stderr")):
        raise refusals.bad_request("you must specify at least 1 of stdin, stdout, stderr")


async def serve_command(
    websocket: WebSocket, protocol: str, request: HTTPRequest, playing: Playing[SessionFunction]
) -> None:
    """Call the function that plays the command, connected to the client, and send its exit code.

    If the client closes the WebSocket, the function is cancelled.
    """
    sizes, (stdin, reader) = TerminalSizes(), open_pipe()
    tty = request.flag("tty")
    session = ContainerSession(
        pod=playing.pod,
        container=playing.container,
        command=request.values("command"),
        tty=tty,
        stdin=reader,
        stdout=_Output(websocket if request.flag("stdout") else None, _STDOUT),
        stderr=_Output(websocket if request.flag("stderr") and not tty else None, _STDERR),
        _sizes=sizes,
    )
    if not request.flag("stdin"):
        stdin.close()
    async with trio.open_nursery() as nursery:

        async def receive() -> None:
            await _receive(websocket, stdin, sizes, closes=protocol == PROTOCOLS[0])
            nursery.cancel_scope.cancel()

        nursery.start_soon(receive)
        status = await _status_of(playing.function, session)
        await websocket.send(bytes([_ERROR]) + msgspec.json.encode(status))
        nursery.cancel_scope.cancel()
    await websocket.aclose()


async def _receive(websocket: WebSocket, stdin: PipeWriter, sizes: TerminalSizes, *, closes: bool) -> None:
    """Pass on what the client sends, until it closes the WebSocket."""
    while (message := await websocket.receive()) is not None:
        match message[:1], message[1:]:
            case (b"\x00", data):
                # The function may have closed its stdin, or the client may have closed it before.
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    await stdin.send_all(data)
            case (b"\x04", data):
                _resize(sizes, data)
            case (b"\xff", b"\x00") if closes:
                stdin.close()


def _resize(sizes: TerminalSizes, data: bytes) -> None:
    try:
        size = msgspec.json.decode(data, type=dict[str, int])
    except msgspec.DecodeError:
        return  # as in a kubelet
    sizes.add(size.get("Width", 0), size.get("Height", 0))


async def _status_of(function: SessionFunction, session: ContainerSession) -> dict[str, Any]:
    """Return the Status with the exit code that ``function`` returns."""
    try:
        output = function(session)
        if inspect.isawaitable(output):
            output = await output
        return await _finished(session, output)
    except Exception as error:
        _logger.exception("the function that plays a command in %s failed", session.pod["metadata"]["name"])
        message = f"Internal error occurred: error executing command in container: {error!r}"
        return {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500}


async def _finished(session: ContainerSession, output: Output) -> dict[str, Any]:
    match output:
        case str() | bytes():
            await session.stdout.send_all(output.encode() if isinstance(output, str) else output)
        case bool():
            raise TypeError("the function returned a bool: return the exit code, output, or None")
        case int() if output:
            causes = [{"reason": "ExitCode", "message": str(output)}]
            return {
                "metadata": {},
                "status": "Failure",
                "message": f"command terminated with non-zero exit code: exit status {output}",
                "reason": "NonZeroExitCode",
                "details": {"causes": causes},
            }
        case None | int():
            pass
        case other:
            raise TypeError(f"the function returned {type(other).__name__}: return the exit code, output, or None")
    return _SUCCESS


class _Output(trio.abc.SendStream):
    """Sends what is written to one channel, or discards it."""

    def __init__(self, websocket: WebSocket | None, channel: int) -> None:
        self._websocket = websocket
        self._channel = bytes([channel])

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        view, websocket = memoryview(data), self._websocket
        await trio.lowlevel.checkpoint()
        if websocket is not None:
            for offset in range(0, len(view), _CHUNK):
                await websocket.send(self._channel + view[offset : offset + _CHUNK])

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Do nothing: the protocol has no message for it from the server."""
        await trio.lowlevel.checkpoint()
