"""Running a short-lived helper process.

No shell, a timeout, bounded output, killed on cancellation.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import trio

from dynkube._logs import get_logger
from dynkube._server_text import sanitized

logger = get_logger("dynkube.config")

_MAX_STDOUT = 1 << 20  # bytes; a certificate with its key is some KB
_TAIL = 4096  # bytes of stderr kept
_LINES = 5
_LOGGED = 200  # lines of stderr that are logged
# Seconds between SIGTERM and SIGKILL. Also the seconds for which the pipes of an ended process may stay open, because a
# daemon that it started inherits them.
_GRACE = 1.0


@dataclass(slots=True)
class ProcessOutcome:
    """The result of a run.

    ``returncode`` is ``None`` if the process did not start, or was killed by dynkube.
    """

    returncode: int | None = None
    start_error: OSError | ValueError | None = None
    timed_out: bool = False
    too_long: bool = False
    stdout: bytearray = field(default_factory=bytearray, repr=False)
    stderr: bytes = field(default=b"", repr=False)

    def last_output(self, redact: Callable[[str], str]) -> str:
        """Return the last lines of stderr, without control characters and secrets.

        Returns ``""`` if there are none.
        """
        text = redact(self.stderr.decode("utf-8", errors="replace"))
        lines = [sanitized(line.strip(), _TAIL) for line in text.splitlines()]
        return "\n".join([line for line in lines if line][-_LINES:])


async def run_bounded(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    interactive: bool,
    redact: Callable[[str, ProcessOutcome], str],
) -> ProcessOutcome:
    """Run ``command`` to its end and collect its output.

    Cancellation stops the process: SIGTERM, a second later SIGKILL; on Windows immediately.

    Args:
        command: the path of an executable, and its arguments; no shell is involved.
        env: its complete environment.
        timeout: seconds after which it is stopped.
        interactive: connect stdin of the process to that of this program, and copy its stderr immediately. Otherwise
            its stdin is empty, its stderr is logged (INFO) line by line after its end, and it has its own process
            group, so that its children are stopped with it. An interactive process has to stay in the foreground
            process group.
        redact: removes secrets from a log line, including those that the process printed.
    """
    outcome = ProcessOutcome()
    options: dict[str, object] = {"stdin": None if interactive else subprocess.DEVNULL}
    if os.name == "posix" and not interactive:
        options["process_group"] = 0
    run = partial(
        trio.run_process,
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        deliver_cancel=partial(_stop, own_group="process_group" in options),
        **options,
    )
    log = None if interactive else _Log()
    with trio.move_on_after(timeout) as deadline:
        try:
            async with trio.open_nursery() as nursery:
                try:
                    process: trio.Process = await nursery.start(run)
                except (OSError, ValueError) as error:  # ValueError: an argument no operating system accepts
                    outcome.start_error = error
                    return outcome
                await _collect(process, outcome, log=log)
                if outcome.too_long:
                    nursery.cancel_scope.cancel()
                outcome.returncode = process.returncode
        finally:
            if log is not None:
                log.write(lambda text: redact(text, outcome))
    outcome.timed_out = deadline.cancelled_caught
    return outcome


async def _collect(process: trio.Process, outcome: ProcessOutcome, *, log: _Log | None) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    async with trio.open_nursery() as readers:
        readers.start_soon(_read_stdout, process.stdout, outcome, readers.cancel_scope)
        readers.start_soon(_read_stderr, process.stderr, outcome, log)
        await process.wait()
        readers.cancel_scope.deadline = trio.current_time() + _GRACE


async def _read_stdout(stream: trio.abc.ReceiveStream, outcome: ProcessOutcome, scope: trio.CancelScope) -> None:
    async with stream:
        async for chunk in stream:
            outcome.stdout += chunk
            if len(outcome.stdout) > _MAX_STDOUT:
                outcome.too_long = True
                scope.cancel()


async def _read_stderr(stream: trio.abc.ReceiveStream, outcome: ProcessOutcome, log: _Log | None) -> None:
    try:
        async with stream:
            async for chunk in stream:
                outcome.stderr = (outcome.stderr + chunk)[-_TAIL:]
                if log is not None:
                    log.take(chunk)
                elif sys.stderr is not None:  # may be a prompt: at once and unmodified
                    sys.stderr.write(chunk.decode("utf-8", errors="replace"))
                    sys.stderr.flush()
    finally:
        if log is not None:
            log.take(b"\n")  # ends an incomplete last line


class _Log:
    """Buffers lines of stderr, and logs them after the process has ended.

    The lines may contain the credential that the process prints later, which has to be redacted. Whole lines are
    kept, as secrets are recognized in whole lines only; at most the last 200.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LOGGED)
        self._begun = b""
        self._in_key = False

    def write(self, redact: Callable[[str], str]) -> None:
        """Log the buffered lines."""
        for line in self._lines:
            logger.info("%s", redact(line))

    def take(self, chunk: bytes | bytearray) -> None:
        """Buffer the lines that end in ``chunk``."""
        *lines, rest = (self._begun + bytes(chunk)).split(b"\n")
        self._begun = rest[-_TAIL:]
        for line in lines:
            text = line[-_TAIL:].decode("utf-8", errors="replace").strip()
            if "PRIVATE KEY-----" in text:  # a private key is recognized only by its first and last line
                self._in_key = "-----BEGIN" in text
            elif text and not self._in_key:
                self._lines.append(text)


async def _stop(process: trio.Process, *, own_group: bool) -> None:
    if os.name != "posix":
        process.terminate()
        return
    send = partial(os.killpg, process.pid) if own_group else process.send_signal
    # macOS raises PermissionError for a group in which all processes have ended.
    with suppress(ProcessLookupError, PermissionError):
        send(signal.SIGTERM)
        try:
            await trio.sleep(_GRACE)
        finally:
            # This task is cancelled here once the process has ended; its children may have ignored SIGTERM.
            send(signal.SIGKILL)
