"""Real processes for tests: read line by line with a timeout, and killed at the end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

TIMEOUT = 40.0  # seconds for one line; the machine may be busy


class Command:
    """A running ``dynkube`` command."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self._rest = b""
        self.lines: list[str] = []
        """The lines of stdout read so far."""

    async def line(self) -> str:
        """Return the next line of stdout."""
        assert self._process.stdout is not None
        with trio.fail_after(TIMEOUT):
            while b"\n" not in self._rest:
                received = await self._process.stdout.receive_some()
                assert received, f"stdout ended after {self.lines}"
                self._rest += received
        line, _, self._rest = self._rest.partition(b"\n")
        self.lines.append(line.decode())
        return self.lines[-1]

    async def until(self, text: str, count: int = 1) -> list[str]:
        """Return the lines up to the ``count``-th one from now that contains ``word``."""
        begin = len(self.lines)
        while sum(text in line for line in self.lines[begin:]) < count:
            await self.line()
        return self.lines[begin:]

    async def stop(self, number: signal.Signals) -> tuple[int, str, str]:
        """Send a signal; return the exit code and the remaining stdout and stderr."""
        self._process.send_signal(number)
        return await self.ended()

    async def ended(self) -> tuple[int, str, str]:
        """Wait for the end; return the exit code and the remaining stdout and stderr."""
        process = self._process
        assert process.stderr is not None
        with trio.fail_after(TIMEOUT):
            code = await process.wait()
            errors = b"".join([chunk async for chunk in process.stderr])
            rest = self._rest + b"".join([chunk async for chunk in process.stdout] if process.stdout else [])
        return code, rest.decode(), errors.decode()

    async def close_stdout(self) -> None:
        """Close the reading end of stdout."""
        assert self._process.stdout is not None
        await self._process.stdout.aclose()
        self._process.stdout = None


@asynccontextmanager
async def dynkube(*arguments: str) -> AsyncIterator[Command]:
    """Run ``dynkube ARGUMENTS`` as a process, which is killed at the end of the block."""
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "dynkube.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Command(process)
    finally:
        with trio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
                await process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    await pipe.aclose()
