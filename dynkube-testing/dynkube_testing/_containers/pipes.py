"""Pipes between tasks: streams of bytes in memory, whose writer waits for the reader."""

from __future__ import annotations

import trio

_CHUNKS = 16  # that wait in a pipe before its writer waits


class PipeWriter(trio.abc.SendStream):
    """The end of a pipe to write to; the reader gets the end when it is closed."""

    def __init__(self, channel: trio.MemorySendChannel[bytes]) -> None:
        self._channel = channel

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Write bytes; blocks while the pipe is full.

        Raises:
            trio.BrokenResourceError: The reader has closed its end.
        """
        if data:
            await self._channel.send(bytes(data))
        else:
            await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """Do nothing: ``send_all`` may always block."""
        await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close the end, without a checkpoint."""
        self._channel.close()

    async def aclose(self) -> None:
        """Close the end."""
        await self._channel.aclose()


class PipeReader(trio.abc.ReceiveStream):
    """The end of a pipe to read from."""

    def __init__(self, channel: trio.MemoryReceiveChannel[bytes]) -> None:
        self._channel = channel
        self._rest = b""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the next bytes, at most ``max_bytes``; ``b""`` at the end. Blocks until there are any."""
        if self._rest:
            await trio.lowlevel.checkpoint()
        else:
            try:
                self._rest = await self._channel.receive()
            except trio.EndOfChannel:
                return b""
        data = self._rest[:max_bytes]
        self._rest = self._rest[len(data) :]
        return data

    async def aclose(self) -> None:
        """Close the end; the writer gets ``trio.BrokenResourceError``."""
        await self._channel.aclose()


def open_pipe() -> tuple[PipeWriter, PipeReader]:
    """Return the two ends of a new pipe."""
    send, receive = trio.open_memory_channel[bytes](_CHUNKS)
    return PipeWriter(send), PipeReader(receive)


def open_stream_pair() -> tuple[trio.StapledStream[PipeWriter, PipeReader], trio.StapledStream[PipeWriter, PipeReader]]:
    """Return two connected streams; each ends when the other one is closed or has sent EOF."""
    (there, here_in), (back, there_in) = open_pipe(), open_pipe()
    return trio.StapledStream(there, there_in), trio.StapledStream(back, here_in)
