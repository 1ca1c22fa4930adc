"""Writing to a reader that may be slow, without holding up the event loop."""

from __future__ import annotations

import os
import select
import sys

import trio

from dynkube.cli._run import CommandFailed

# Of a pipe that is ready for writing, so much can be written without blocking; POSIX promises no less than 512.
_READY = getattr(select, "PIPE_BUF", 512)


class Output:
    """Lines to a file descriptor, each on its way when :meth:`line` returns.

    A reader that does not read (``| less``) keeps the caller waiting, and nobody else: signals and watches go on.
    The descriptor itself stays in blocking mode, as a terminal shares it with other programs.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waits = True  # whether the kernel can tell when it is ready
        self._lock = trio.Lock()

    @classmethod
    def standard(cls) -> Output:
        """Of standard output.

        Raises:
            CommandFailed: the process was started without one (``>&-``); what opens next gets its descriptor.
        """
        if sys.__stdout__ is None:
            raise CommandFailed("standard output is closed: send it to /dev/null if nobody is to read it")
        return cls(sys.stdout.fileno())

    async def line(self, text: str | bytes) -> None:
        """Write ``text`` and a newline. When cancelled, a long line may be cut short.

        Raises:
            BrokenPipeError: the reader left.
            CommandFailed: nothing can be written there.
        """
        data = text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
        rest = memoryview(data + b"\n")
        async with self._lock:
            while rest:
                await self._ready()
                rest = rest[self._write(rest[:_READY]) :]

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BrokenPipeError:
            raise
        except OSError as error:  # the disk is full, say
            raise CommandFailed(f"the output cannot be written: {error.strerror}") from error

    async def _ready(self) -> None:
        if self._waits:
            try:
                await trio.lowlevel.wait_writable(self._fd)
                return
            except OSError:  # a regular file, which is always ready; or Windows, which can only tell of sockets
                self._waits = False
        await trio.lowlevel.checkpoint()


class Nowhere:
    """Drops every line: for notes, where there is no standard error."""

    async def line(self, text: str | bytes) -> None:
        """Write nothing."""
        await trio.lowlevel.checkpoint()
