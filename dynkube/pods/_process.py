"""``Process``: a command in a container, or a connection to what runs in it, with its streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, Final

import trio

from dynkube._bound import Bound
from dynkube._nursery import OwnedNursery
from dynkube._server_text import sanitized
from dynkube.errors import (
    ClosedError,
    CommandNotStarted,
    ConnectionLost,
    DynkubeError,
    InvalidInput,
    PodError,
    Status,
)
from dynkube.errors._base import another
from dynkube.pods._channels import ERROR, STDERR, STDOUT, V4, V5, Demultiplexer, exit_code_of, resizing
from dynkube.pods._streams import ProcessInput, ProcessOutput
from dynkube.pods._target import PodTarget

if TYPE_CHECKING:
    from dynkube.rest._websocket import Piece, WebSocket

_CLOSING_SECONDS: Final = (
    5.0  # of silence, after which a server that has sent the exit code need not close the connection
)
_MOST_STATUS: Final = 1 << 20
_LARGEST_TERMINAL: Final = 0xFFFF
_NOT_FOUND: Final = ("executable file not found", "no such file or directory", "not found in $PATH")
_NOT_ALLOWED: Final = ("permission denied",)


class Process(Bound):
    """A command in a container, or a connection to what runs in it.

    From :meth:`Pod.open_exec` and :meth:`Pod.attach`. Read its streams while it runs: a process that writes more than
    about a megabyte to one of them waits until that is read, and so does what it writes to the other.

    Attributes:
        stdin: the stream to its stdin; ``None`` if it was opened without.
        stdout: the stream from its stdout; at its end at once if it was opened without.
        stderr: the stream from its stderr, likewise; with a terminal everything is in ``stdout``.
    """

    def __init__(
        self, websocket: WebSocket, target: PodTarget, what: str, container: str | None, options: Mapping[str, bool]
    ) -> None:
        self._websocket = websocket
        self._target = target
        self._what = what
        self._container = container
        self._tty = options["tty"]
        self._outcome: int | DynkubeError | None = None
        self._ended = trio.Event()
        self._status = bytearray()
        self._has_written = False
        self.stdin: ProcessInput | None = None
        if options["stdin"]:
            self.stdin = ProcessInput(websocket.send, websocket.subprotocol, self._ended.is_set)
        self.stdout: ProcessOutput = ProcessOutput()
        self.stderr: ProcessOutput = ProcessOutput()

    @property
    def protocol(self) -> str:
        """``"v5.channel.k8s.io"``, or ``"v4.channel.k8s.io"``, in which stdin cannot be closed."""
        return self._websocket.subprotocol

    @property
    def exit_code(self) -> int | None:
        """The exit code; ``None`` while the process runs, and if it is not known."""
        return self._outcome if isinstance(self._outcome, int) else None

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit code.

        It does not end while it waits for its output to be read. With :meth:`Pod.attach` servers may report only that
        the process has ended: 0 is returned then.

        Raises:
            CommandNotStarted: it could not be started; the message says why.
            ConnectionLost: the connection ended before the process did.
            PodError: the server does not know the exit code.
            ClosedError: the block of the process has ended.
        """
        await self._ended.wait()
        if isinstance(self._outcome, DynkubeError):
            raise another(self._outcome)  # several tasks may wait
        assert self._outcome is not None
        return self._outcome

    async def resize(self, columns: int, rows: int) -> None:
        """Tell the process the size of its terminal.

        Raises:
            InvalidInput: it was opened without a terminal (``tty=True``), or a size is not between 1 and 65,535.
            ConnectionLost: the process has ended, or the connection has.
        """
        if not self._tty:
            raise InvalidInput("the process has no terminal, whose size could be set: open it with tty=True")
        for name, given in (("columns", columns), ("rows", rows)):
            if type(given) is not int or not 0 < given <= _LARGEST_TERMINAL:
                raise InvalidInput(f"{name} must be an int between 1 and {_LARGEST_TERMINAL}, not {given!r}")
        await self._websocket.send(resizing(columns, rows))

    async def _run(self) -> None:
        """Pass on what is received, until the process has ended."""
        lost: DynkubeError | None = ClosedError(f"{self._what}: its block has ended, which has closed the connection")
        outcome: int | DynkubeError | None = lost
        try:
            lost = await self._receive()
            outcome = lost or await self._read_status()
        finally:
            self._outcome = outcome
            self._ended.set()
            self.stdout._end(lost)
            self.stderr._end(lost)

    async def _receive(self) -> DynkubeError | None:
        """Receive until the server closes the connection; returns the error by which it ended before the process."""
        demultiplexer = Demultiplexer()
        outputs = {STDOUT: self.stdout, STDERR: self.stderr}
        has_status = False
        try:
            while (piece := await self._receive_piece(_CLOSING_SECONDS if has_status else inf)) is not None:
                channel, data = demultiplexer.feed(piece)
                if channel == ERROR:
                    self._status += data[: _MOST_STATUS - len(self._status)]
                    has_status = has_status or piece.ends
                elif data and (output := outputs.get(channel)) is not None:
                    self._has_written = True
                    await output._feed(data)
        except DynkubeError as error:
            return None if self._status else error
        if not self._status:
            return ConnectionLost(f"{self._what}: the server closed the connection before the end of the process")
        return None

    async def _receive_piece(self, seconds: float) -> Piece | None:
        with trio.move_on_after(seconds):  # not while output waits for its reader: it may follow the exit code
            return await self._websocket.receive()
        return None

    async def _read_status(self) -> int | DynkubeError:
        outcome = exit_code_of(bytes(self._status))
        if isinstance(outcome, int):
            return outcome
        if self._has_written:
            return PodError(f"{self._what} has ended, and its exit code is not known: {_said(outcome)}")
        return _not_started(self._what, outcome, await self._target.why_not(self._container))


def _not_started(what: str, status: Status, why: str) -> PodError:
    said = _said(status)
    if why:
        return CommandNotStarted(f"{what}: {why} (the server said: {said})")
    if any(sign in said for sign in _NOT_FOUND):
        return CommandNotStarted(f"{what}: there is no such command in the container's image (the server said: {said})")
    if any(sign in said for sign in _NOT_ALLOWED):
        return CommandNotStarted(f"{what}: the command may not be executed (the server said: {said})")
    return CommandNotStarted(f"{what}: {said}")


def _said(status: Status) -> str:
    return sanitized(status.message or status.reason or "no reason", 1000)


@asynccontextmanager
async def open_process(
    target: PodTarget,
    command: Sequence[str] | None,
    *,
    container: str | None,
    stdin: bool = False,
    stdout: bool = True,
    stderr: bool = True,
    tty: bool = False,
    protocols: Sequence[str] = (V5, V4),
    timeout: float | None = None,
) -> AsyncIterator[Process]:
    """Start a command, or attach to a container (``command=None``).

    Leaving the block closes the connection.
    """
    options = {"stdin": stdin, "stdout": stdout, "stderr": stderr and not tty, "tty": tty}
    if not (stdin or stdout or options["stderr"]):
        raise InvalidInput("one of stdin, stdout and stderr is needed")
    params: dict[str, str | Sequence[str]] = {name: "true" for name, wanted in options.items() if wanted}
    if container is not None:
        params["container"] = container
    subresource, what = "attach", f"{target}: attached process"
    if command is not None:
        params["command"] = checked_command(command)
        subresource, what = "exec", f"{target}: command {sanitized(command[0], 100)!r}"
    async with (
        target.websocket(subresource, params, protocols, container=container, timeout=timeout) as websocket,
        OwnedNursery() as nursery,
    ):
        process = Process(websocket, target, what, container, options)
        nursery.start_soon(process._run)
        yield process


def checked_command(command: Sequence[str]) -> list[str]:
    """Return the words of a command.

    Raises:
        InvalidInput: it is not a list of strings, or empty.
    """
    if isinstance(command, str | bytes):
        raise InvalidInput(
            f"command is {command!r}: pass a list of words, as no shell splits it: ['ls', '-l'], or ['sh', '-c', '...']"
        )
    words = list(command)
    if not words or not all(isinstance(each, str) for each in words) or not words[0]:
        raise InvalidInput(f"command must be a list of strings, and not be empty, not {command!r}")
    return words
