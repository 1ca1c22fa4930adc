"""Writes lines to a reader that may be slow, without blocking the event loop."""

from __future__ import annotations

import os
import select
import sys

import trio

from dynkube.cli._run import CommandFailed

# Bytes that can be written to a writable pipe without blocking; POSIX guarantees at least 512.
_READY = getattr(select, "PIPE_BUF", 512)


class Output:
    """Writes lines to a file descriptor, unbuffered.

    A reader that does not read (``| less``) blocks only the calling task: signals and watches are still handled. The
    descriptor stays in blocking mode, as a terminal shares it with other programs.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waits = True  # whether wait_writable supports the descriptor
        self._lock = trio.Lock()

    @classmethod
    def standard(cls) -> Output:
        """Return the output for standard output.

        Raises:
            CommandFailed: the process was started without one (``>&-``), and another file may have its descriptor.
        """
        if sys.__stdout__ is None:
            raise CommandFailed("standard output is closed: redirect it to /dev/null to discard it")
        return cls(sys.stdout.fileno())

    async def line(self, text: str | bytes) -> None:
        """Write ``text`` and a newline. If cancelled, a long line may be written in part.

        Raises:
            BrokenPipeError: the reader has closed the pipe.
            CommandFailed: the write failed.
        """
        data = text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
        await self.write(data + b"\n")

    async def write(self, data: bytes) -> None:
        """Write ``data`` as it is. If cancelled, it may be written in part; raises what :meth:`line` raises."""
        rest = memoryview(data)
        async with self._lock:
            while rest:
                await self._ready()
                rest = rest[self._write(rest[:_READY]) :]

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BrokenPipeError:
            raise
        except OSError as error:  # such as a full disk
            raise CommandFailed(f"the output cannot be written: {error.strerror}") from error

    async def _ready(self) -> None:
        if self._waits:
            try:
                await trio.lowlevel.wait_writable(self._fd)
                return
            except OSError:  # a regular file, which is always ready; or Windows, which supports sockets only
                self._waits = False
        await trio.lowlevel.checkpoint()


class Nowhere:
    """Drops every line; used for notes if there is no standard error."""

    async def line(self, text: str | bytes) -> None:
        """Write nothing."""
        await trio.lowlevel.checkpoint()
