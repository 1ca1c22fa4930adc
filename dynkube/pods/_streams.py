"""The streams of a process in a container, as trio's streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from dynkube.errors import ClosedError, DynkubeError, InvalidInput, PodError
from dynkube.errors._base import another
from dynkube.meta._arguments import brief
from dynkube.pods._channels import CHUNK, STDIN, V4, closing, framed

_PIECES: Final = 16  # of at most 64 KiB that wait for their reader


def check_max_bytes(max_bytes: object) -> None:
    """Raise InvalidInput unless it is a number of bytes to receive, or ``None``; 0 would look like the end."""
    if max_bytes is not None and not (type(max_bytes) is int and max_bytes >= 1):
        raise InvalidInput(f"max_bytes must be an integer >= 1, or None, not {brief(max_bytes)}")


class ProcessOutput(trio.abc.ReceiveStream):
    """What a process writes to its stdout or stderr: ``async for data in process.stdout``.

    About a megabyte is buffered; then the process waits until it is read. Closing the stream discards what follows.
    """

    def __init__(self) -> None:
        self._writer, self._reader = trio.open_memory_channel[bytes](_PIECES)
        self._rest = b""
        self._error: DynkubeError | None = None

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has been written, at most ``max_bytes`` bytes; ``b""`` at the end. Waits until there is some.

        If it is cancelled, nothing is lost.

        Raises:
            ConnectionLost: the connection ended before the process did; everything received before it was returned.
            ClosedError: this stream was closed, or the block of the process has ended.
            InvalidInput: ``max_bytes`` is less than 1.
        """
        check_max_bytes(max_bytes)
        if self._rest:
            await trio.lowlevel.checkpoint()
        else:
            try:
                self._rest = await self._reader.receive()
            except trio.EndOfChannel:
                if self._error is None:
                    return b""
                # Kept for further calls, and also the outcome of the process and of its other stream.
                raise another(self._error) from self._error.__cause__
            except trio.ClosedResourceError:
                raise ClosedError("this stream of the process was closed") from None
        data = self._rest[:max_bytes]
        self._rest = self._rest[len(data) :]
        return data

    def _receive_nowait(self) -> bytes:
        """Return what is there; ``b""`` if nothing is, or at the end."""
        try:
            data = self._rest or self._reader.receive_nowait()
        except (trio.WouldBlock, trio.EndOfChannel):
            return b""
        self._rest = b""
        return data

    async def aclose(self) -> None:
        """Close the stream; what the process still writes to it is discarded."""
        await self._reader.aclose()

    def _give_back(self, data: bytes) -> None:
        """Return data again; for callers in other threads, which had given up when it was there."""
        self._rest = data + self._rest

    async def _feed(self, data: bytes) -> None:
        try:
            await self._writer.send(data)
        except trio.BrokenResourceError:  # the reader has closed the stream
            await trio.lowlevel.checkpoint()

    def _end(self, error: DynkubeError | None) -> None:
        self._error = error
        self._writer.close()


class ProcessInput(trio.abc.SendStream):
    """The stdin of a process.

    Closing it tells the process that nothing follows, which servers can do since Kubernetes 1.30.
    """

    def __init__(self, send: Callable[[bytes], Awaitable[None]], protocol: str, has_ended: Callable[[], bool]) -> None:
        self._send = send
        self._protocol = protocol
        self._has_ended = has_ended
        self._closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send data; blocks while the process does not read.

        If it is cancelled, some of the data may have been sent, and no more can be.

        Raises:
            ConnectionLost: the process has ended, or the connection has.
            ClosedError: this stream was closed, an earlier call was cancelled, or the block of the process has ended.
        """
        if self._closed:
            raise ClosedError("the stdin of the process was closed")
        view = memoryview(data)
        await trio.lowlevel.checkpoint()
        for start in range(0, len(view), CHUNK):
            await self._send(framed(STDIN, view[start : start + CHUNK]))

    async def wait_send_all_might_not_block(self) -> None:
        """Do nothing: :meth:`send_all` may always block."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close the stdin of the process, so that it reads its end. Does nothing if the process has ended.

        Raises:
            PodError: the server speaks only v4.channel.k8s.io (before Kubernetes 1.30), which has no message for that:
                use a command that knows where its input ends, such as ``head -c N``.
            ConnectionLost: the connection has ended.
        """
        await trio.lowlevel.checkpoint()
        if self._closed or self._has_ended():
            self._closed = True
            return
        if self._protocol == V4:
            raise PodError(
                f"stdin cannot be closed: the server speaks only {V4}, and the message for it came with Kubernetes "
                "1.30: use a command that knows where its input ends, such as head -c N"
            )
        self._closed = True
        await self._send(closing(STDIN))
