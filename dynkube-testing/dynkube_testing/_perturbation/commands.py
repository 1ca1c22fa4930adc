"""A command as the program under test: a process of its own, which reaches the server over TCP."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from dynkube.errors import InvalidInput
from dynkube_testing._asgi import ASGIApp
from dynkube_testing._wire.tcp import serve_tcp

_LONG = 300  # characters of a line of output
_CHUNK = 65_536
_LAST_OUTPUT = 1.0  # seconds for the last lines of a process that has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, and the variables that its environment has besides those of this process.

    Attributes:
        arguments: The program and its arguments.
        env: Variables; ``KUBECONFIG`` is added.
    """

    arguments: tuple[str, ...]
    env: Mapping[str, str]

    @classmethod
    def parse(cls, arguments: Sequence[str], env: Mapping[str, str]) -> Command:
        """Check a command.

        Raises:
            InvalidInput: It is not a list of strings, or there is no such program.
        """
        given: object = arguments
        if isinstance(given, str) or not arguments or not all(isinstance(each, str) for each in arguments):
            raise InvalidInput(f"command is {given!r}: pass the program and its arguments as a list of strings")
        if shutil.which(arguments[0], path=env.get("PATH")) is None:
            raise InvalidInput(f"command {arguments[0]!r} is not found, or cannot be executed: pass its path")
        return cls(arguments=tuple(arguments), env=dict(env))


async def run_command(command: Command, app: ASGIApp, requests: trio.Nursery, note: Callable[[str], None]) -> str:
    """Run a command until it ends; return why it has ended. If cancelled, kill it with all its child processes.

    Args:
        command: The command.
        app: What its requests are sent to.
        requests: Has the tasks of its connections.
        note: Called with each line that it prints.
    """
    with TemporaryDirectory(prefix="dynkube-perturb-") as folder:
        async with serve_tcp(app, requests, host="127.0.0.1", port=0, tls=False, token=None) as endpoint:
            kubeconfig = endpoint.write_kubeconfig(Path(folder, "kubeconfig"))
            process = await trio.lowlevel.open_process(
                command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **command.env, "KUBECONFIG": str(kubeconfig)},
                start_new_session=True,  # so that its children can be killed too
            )
            try:
                code = await _followed(process, note)
            finally:
                await _kill(process)
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


async def _followed(process: trio.Process, note: Callable[[str], None]) -> int:
    """Pass on the output of a process until it ends; return its exit code."""
    assert process.stdout is not None
    async with process.stdout, trio.open_nursery() as nursery:
        nursery.start_soon(_copy_lines, process.stdout, note)
        code = await process.wait()
        await _kill(process)  # its children, which may have the output open
        nursery.cancel_scope.deadline = trio.current_time() + _LAST_OUTPUT
    return code


async def _copy_lines(stream: trio.abc.ReceiveStream, note: Callable[[str], None]) -> None:
    """Pass on the beginning of each line until the stream ends."""
    rest = b""
    while chunk := await stream.receive_some(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        rest = rest[:_LONG]
        for line in lines:
            note(line[:_LONG].decode(errors="replace"))
    if rest:
        note(rest.decode(errors="replace"))


async def _kill(process: trio.Process) -> None:
    """Kill a process and those that it has started, and wait until it has ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with trio.CancelScope(shield=True):
        await process.wait()
