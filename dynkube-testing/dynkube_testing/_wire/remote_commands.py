"""Commands in containers: over WebSockets with channels, or over SPDY.

- With ``v5.channel.k8s.io`` and ``v4.channel.k8s.io`` each message begins with the number of a channel. In v5 a client
  can close its stdin, by a message of the byte 255 and the channel (KEP-4006).
- With SPDY the client opens a stream for each of them, and ends that for stdin when it closes it.

At the end the server sends a Status on the channel for errors, which has the exit code.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import trio

from dynkube_testing._calls import refuse
from dynkube_testing._containers.pipes import PipeReader, PipeWriter, open_pipe
from dynkube_testing._containers.played import Playing
from dynkube_testing._containers.sessions import ContainerSession, Output, SessionFunction, TerminalSizes
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.spdy import SpdyConnection, SpdyError, SpdyStream
from dynkube_testing._wire.websocket import WebSocket

SPDY: Final = "v4.channel.k8s.io"
PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")

_logger = logging.getLogger("dynkube_testing")

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_STREAM_SECONDS: Final = 30.0  # as in a kubelet
_CHUNK: Final = 32 * 1024  # of output in one message
_SUCCESS: Final = {"metadata": {}, "status": "Success"}


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The parameters of a request to run a command, or to attach to one."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool
    command: tuple[str, ...]

    @classmethod
    def read(cls, request: HTTPRequest) -> CommandOptions:
        """Read the parameters.

        Raises:
            BadRequest: They name none of stdin, stdout and stderr.
        """
        stdin, stdout, stderr = (request.flag(name) for name in ("stdin", "stdout", "stderr"))
        if not (stdin or stdout or stderr):
            raise refuse.bad_request("you must specify at least 1 of stdin, stdout, stderr")
        tty = request.flag("tty")
        return cls(stdin, stdout, stderr and not tty, tty, request.values("command"))


async def serve_channels(
    websocket: WebSocket, protocol: str, options: CommandOptions, playing: Playing[SessionFunction]
) -> None:
    """Call the function that plays the command, connected to the client, and send its exit code.

    If the client closes the WebSocket, the function is cancelled.
    """

    def output(channel: int) -> _Output:
        return _Output(lambda data: websocket.send(bytes([channel]) + data))

    sizes, (stdin, reader) = TerminalSizes(), open_pipe()
    if not options.stdin:
        stdin.close()
    session = _session(options, playing, reader, output(_STDOUT), output(_STDERR), sizes)
    async with trio.open_nursery() as nursery:

        async def receive() -> None:
            await _receive(websocket, stdin, sizes, closes=protocol == PROTOCOLS[0])
            nursery.cancel_scope.cancel()

        nursery.start_soon(receive)
        status = await _status_of(playing.function, session)
        await websocket.send(bytes([_ERROR]) + msgspec.json.encode(status))
        nursery.cancel_scope.cancel()
    await websocket.aclose()


async def serve_spdy(transport: trio.abc.Stream, options: CommandOptions, playing: Playing[SessionFunction]) -> None:
    """Call the function like :func:`serve_channels`, when the client has opened all streams.

    If the client closes the connection, or does not open its streams in 30 seconds, the function is cancelled.
    """
    opened = {"stdin": options.stdin, "stdout": options.stdout, "stderr": options.stderr, "resize": options.tty}
    expected = {"error", *(name for name, wanted in opened.items() if wanted)}
    streams: dict[str, SpdyStream] = {}
    complete = trio.Event()

    def accept(stream: SpdyStream) -> bool:
        name = stream.headers.get("streamtype", "")
        if name not in expected or name in streams:
            return False
        streams[name] = stream
        if streams.keys() == expected:
            complete.set()
        return True

    async with trio.open_nursery() as nursery:

        async def receive() -> None:
            try:
                await SpdyConnection(transport).run(accept)
            except SpdyError:
                _logger.warning("a client that runs a command has sent malformed SPDY", exc_info=True)
            nursery.cancel_scope.cancel()

        nursery.start_soon(receive)
        with trio.move_on_after(_STREAM_SECONDS):
            await complete.wait()
        if complete.is_set():
            await _run_over_spdy(streams, options, playing, nursery)
        nursery.cancel_scope.cancel()


async def _run_over_spdy(
    streams: Mapping[str, SpdyStream],
    options: CommandOptions,
    playing: Playing[SessionFunction],
    nursery: trio.Nursery,
) -> None:
    sizes, (closed, no_input) = TerminalSizes(), open_pipe()
    closed.close()
    stdin = streams["stdin"].received if "stdin" in streams else no_input

    def output(name: str) -> _Output:
        return _Output(streams[name].send if name in streams else None)

    async def read_sizes() -> None:
        async for data in streams["resize"].received:
            _resize(sizes, bytes(data))

    if "resize" in streams:
        nursery.start_soon(read_sizes)
    session = _session(options, playing, stdin, output("stdout"), output("stderr"), sizes)
    status = await _status_of(playing.function, session)
    await streams["error"].send(msgspec.json.encode(status))
    for stream in streams.values():
        await stream.end()


def _session(
    options: CommandOptions,
    playing: Playing[SessionFunction],
    stdin: PipeReader,
    stdout: _Output,
    stderr: _Output,
    sizes: TerminalSizes,
) -> ContainerSession:
    return ContainerSession(
        pod=playing.pod,
        container=playing.container,
        command=options.command,
        tty=options.tty,
        stdin=stdin,
        stdout=stdout if options.stdout else _Output(None),
        stderr=stderr if options.stderr else _Output(None),
        _sizes=sizes,
    )


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
    """Sends what is written in pieces, or discards it if the client did not request it."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]] | None) -> None:
        self._send = send

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        view, send = memoryview(data), self._send
        await trio.lowlevel.checkpoint()
        if send is not None:
            for offset in range(0, len(view), _CHUNK):
                await send(bytes(view[offset : offset + _CHUNK]))

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Do nothing: the client gets the end of all output with the exit code."""
        await trio.lowlevel.checkpoint()
