"""``dynkube exec``: a command in a container, with the streams of this process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Annotated, Final

import trio
from cyclopts import Parameter

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import NamespaceOption, check_namespace
from dynkube.cli._cluster import Cluster
from dynkube.cli._notes import note
from dynkube.cli._output import Output
from dynkube.cli._port_forward import read_pod
from dynkube.cli._run import STDIN, CommandFailed
from dynkube.errors import ConnectionLost, PodError
from dynkube.pods import Process, ProcessInput

_STDIN: Final = 0
_READ_BYTES: Final = 64 << 10


async def exec(  # noqa: A001  # the name of the command
    pod: str,
    /,
    *command: str,
    container: Annotated[str | None, Parameter(name=["--container", "-c"])] = None,
    stdin: Annotated[bool, Parameter(name=["--stdin", "-i"], negative="")] = False,
    tty: Annotated[bool, Parameter(name=["--tty", "-t"], negative="")] = False,
    namespace: NamespaceOption = None,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> int:
    """Run a command in a container: dynkube exec web -it -- sh. Exits with the command's exit code.

    Args:
        pod: Name of the pod, or KIND/NAME of a workload or Service, of which one pod is chosen: deploy/web.
        command: The command and its arguments, after --; no shell is involved.
        container: The container; may be left out if the pod has only one.
        stdin: Pass on standard input.
        tty: Give the command a terminal, if standard input is one; its size follows that of this terminal.
        namespace: Namespace of the pod; by default the context's.
        cluster: The cluster.
    """
    check_namespace(namespace, "that of the current context")
    name = read_pod(pod)
    if not command:
        raise CommandFailed("no command is given: pass it after --, like dynkube exec web -- ls -l")
    if stdin and sys.__stdin__ is None:
        raise CommandFailed("standard input is closed: leave -i out, or redirect it from /dev/null")
    if tty and not stdin:
        raise CommandFailed("-t requires -i: pass -it")
    if tty and not _has_terminal():
        note("standard input is not a terminal: -t is ignored")
        tty = False
    words = ["-" if word == STDIN else word for word in command]
    handle = Wanted(pod=name, namespace=namespace, container=container, command=words, stdin=stdin, tty=tty)
    return await run_exec(cluster.client(), handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which command runs where; the attributes are the arguments of ``Client.pod`` and ``Pod.open_exec``."""

    pod: str
    command: Sequence[str]
    namespace: str | None = None
    container: str | None = None
    stdin: bool = False
    tty: bool = False


async def run_exec(client: Client, wanted: Wanted) -> int:
    """Enter ``client``, run a command with the streams of this process, and return its exit code.

    With ``tty``, the terminal is in raw mode meanwhile: all keys go to the command, Ctrl-C too.

    Raises:
        CommandNotStarted: the command could not be started; the message says why.
        ConnectionLost: the connection ended before the command did.
        CommandFailed: this process got SIGTERM while the terminal was in raw mode.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    out, errors = Output.standard(), sys.__stderr__ is not None
    async with client:
        pod = client.pod(wanted.pod, namespace=wanted.namespace)
        opened = pod.open_exec(
            wanted.command, container=wanted.container, stdin=wanted.stdin, stderr=errors, tty=wanted.tty
        )
        async with opened as process:
            with _raw_terminal() if wanted.tty else nullcontext():
                await _connect(process, out, tty=wanted.tty)
            return await process.wait()


async def _connect(process: Process, out: Output, *, tty: bool) -> None:
    """Pass on the streams, until those of the command have ended."""
    async with trio.open_nursery() as nursery:
        if process.stdin is not None:
            nursery.start_soon(_send_input, process.stdin)
        if tty:
            nursery.start_soon(_follow_terminal, process)
        async with trio.open_nursery() as outputs:
            outputs.start_soon(_pass_on, process.stderr, Output(2))
            outputs.start_soon(_pass_on, process.stdout, out)
        nursery.cancel_scope.cancel()


async def _pass_on(stream: trio.abc.ReceiveStream, out: Output) -> None:
    async for data in stream:
        await out.write(bytes(data))


async def _send_input(stdin: ProcessInput) -> None:
    try:
        while data := await _read_input():
            await stdin.send_all(data)
        await stdin.aclose()
    except ConnectionLost:  # the command has ended, or its output says that the connection has
        return
    except PodError as error:  # an old server, which cannot close stdin; the command may not wait for that
        note(f"warning: {printable(str(error))}")


async def _read_input() -> bytes:
    """Return what can be read from standard input; ``b""`` at its end."""
    try:
        await trio.lowlevel.wait_readable(_STDIN)
    except OSError:  # a regular file, which is always ready; or Windows, which supports sockets only
        return await trio.to_thread.run_sync(os.read, _STDIN, _READ_BYTES, abandon_on_cancel=True)
    return os.read(_STDIN, _READ_BYTES)


def _has_terminal() -> bool:
    """Return whether standard input is a terminal whose mode can be set."""
    return sys.platform != "win32" and sys.__stdin__ is not None and os.isatty(_STDIN)


if sys.platform != "win32":
    import termios
    import tty as terminal_modes

    @contextmanager
    def _raw_terminal() -> Iterator[None]:
        """Put the terminal into raw mode while the block runs."""
        before = termios.tcgetattr(_STDIN)
        try:
            terminal_modes.setraw(_STDIN)
            yield
        finally:
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, before)

    async def _follow_terminal(process: Process) -> None:
        """Pass on the size of the terminal whenever it changes.

        SIGTERM is an error here, so that the mode of the terminal is restored.
        """
        with trio.open_signal_receiver(signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP) as signals:
            await _pass_on_size(process)
            async for number in signals:
                if number != signal.SIGWINCH:
                    raise CommandFailed(f"ended by {signal.Signals(number).name}")
                await _pass_on_size(process)

    async def _pass_on_size(process: Process) -> None:
        columns, rows = os.get_terminal_size(_STDIN)
        if columns and rows:  # some terminals do not know their size
            with suppress(ConnectionLost):  # the command has ended
                await process.resize(columns, rows)
