"""``Pod.exec``: a command from its start to its end, with its output collected."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import trio

from dynkube._nursery import OwnedNursery
from dynkube._server_text import sanitized
from dynkube.errors import (
    CommandFailed,
    CommandLost,
    ConnectionLost,
    DeadlineExceeded,
    InvalidInput,
    OutputTooLong,
)
from dynkube.meta._arguments import brief, is_seconds
from dynkube.pods._channels import V4, V5
from dynkube.pods._process import Process, open_process
from dynkube.pods._streams import ProcessOutput
from dynkube.pods._target import PodTarget

Stdin: TypeAlias = bytes | str | AsyncIterable[bytes] | None
"""What a command gets as its stdin: text is encoded as UTF-8."""

MAX_OUTPUT: Final = 16 << 20
_TAIL: Final = 2000  # characters of stderr in a message


@dataclass(frozen=True, slots=True)
class ExecResult:
    """A command that has ended.

    Attributes:
        exit_code: its exit code.
        stdout: its output.
        stderr: its errors.
    """

    exit_code: int
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The output as text; bytes that are not UTF-8 are replaced by ``�``."""
        return self.stdout.decode("utf-8", "replace")


class _Collected:
    """The output of a command so far."""

    def __init__(self, what: str, most: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.stdin_lost: ConnectionLost | None = None  # raised by the iterable that is the stdin
        self._what = what
        self._most = most

    async def collect(self, stream: ProcessOutput, into: bytearray) -> None:
        with suppress(ConnectionLost):  # raised by wait(), too
            async for data in stream:
                room = self._most - len(self.stdout) - len(self.stderr)
                into += data[:room]
                if len(data) > room:
                    raise OutputTooLong(
                        f"{self._what} wrote more than {self._most} bytes (max_output): raise the limit, or read the "
                        "output as it comes, with open_exec",
                        stdout=bytes(self.stdout),
                        stderr=bytes(self.stderr),
                    )


async def run_command(
    target: PodTarget,
    command: Sequence[str],
    *,
    container: str | None,
    stdin: Stdin,
    check: bool,
    timeout: float | None,
    max_output: int,
) -> ExecResult:
    """Run a command; see :meth:`Pod.exec`."""
    _check(stdin, timeout, max_output)
    what = f"{target}: {sanitized(' '.join(command), 100)!r}"
    collected = _Collected(what, max_output)
    with trio.move_on_after(float("inf") if timeout is None else timeout):
        try:
            code = await _run(target, command, container, stdin, collected)
        except ConnectionLost as error:
            if error is collected.stdin_lost:
                raise
            raise CommandLost(str(error), stdout=bytes(collected.stdout), stderr=bytes(collected.stderr)) from error
        result = ExecResult(code, bytes(collected.stdout), bytes(collected.stderr))
        if check and code:
            raise _failed(what, result)
        return result
    raise DeadlineExceeded(
        f"{what} did not end within {timeout:g} s; it wrote {len(collected.stdout)} bytes. The connection was closed, "
        "which does not end a command that does not use it"
    )


async def _run(
    target: PodTarget, command: Sequence[str], container: str | None, stdin: Stdin, collected: _Collected
) -> int:
    # Without the message that closes stdin, a command that reads all of it would never end: so it is not started.
    protocols = (V5, V4) if stdin is None else (V5,)
    wants_stdin = stdin is not None
    async with open_process(target, command, container=container, stdin=wants_stdin, protocols=protocols) as process:
        return await _communicate(process, stdin, collected)


async def _communicate(process: Process, stdin: Stdin, collected: _Collected) -> int:
    complete = trio.Event()

    async def collect_errors() -> None:
        await collected.collect(process.stderr, collected.stderr)
        complete.set()

    async with OwnedNursery() as nursery:
        nursery.start_soon(collect_errors)
        if stdin is not None:
            nursery.start_soon(_feed, process, stdin, collected)
        await collected.collect(process.stdout, collected.stdout)
        await complete.wait()
    return await process.wait()


async def _feed(process: Process, stdin: Stdin, collected: _Collected) -> None:
    assert process.stdin is not None
    if isinstance(stdin, bytes | str):
        if not await _is_sent(process.stdin.send_all(stdin.encode() if isinstance(stdin, str) else stdin)):
            return
    elif stdin is not None:
        try:
            async with _closing(stdin):
                async for data in stdin:
                    if not await _is_sent(process.stdin.send_all(data)):
                        return
        except ConnectionLost as error:  # as that of a process in another pod, whose output this is
            collected.stdin_lost = error
            raise
    await _is_sent(process.stdin.aclose())


async def _is_sent(sending: Awaitable[None]) -> bool:
    """Return whether the process was there; if it has ended without reading all of it, wait() raises what is wrong."""
    try:
        await sending
    except ConnectionLost:
        return False
    return True


def _closing(stdin: AsyncIterable[bytes]) -> AbstractAsyncContextManager[object]:
    return aclosing(stdin) if isinstance(stdin, AsyncGenerator) else nullcontext()


def _failed(what: str, result: ExecResult) -> CommandFailed:
    tail = result.stderr[-4 * _TAIL :].decode("utf-8", "replace").strip()[-_TAIL:]
    said = f": {sanitized(tail, _TAIL, lines=True)}" if tail else ", and wrote nothing to stderr"
    return CommandFailed(
        f"{what} ended with exit code {result.exit_code}{said}",
        exit_code=result.exit_code,
        stdout=result.stdout,
        stderr=result.stderr,
    )


def _check(stdin: object, timeout: object, max_output: object) -> None:
    if not (stdin is None or isinstance(stdin, bytes | str | AsyncIterable)):
        raise InvalidInput(f"stdin is {brief(stdin)}: pass bytes, a str, or an async iterable of bytes")
    if timeout is not None and not is_seconds(timeout):
        raise InvalidInput(f"timeout must be a positive number of seconds, or None, not {brief(timeout)}")
    if type(max_output) is not int or max_output < 1:
        raise InvalidInput(f"max_output must be a number of bytes >= 1, not {brief(max_output)}")
