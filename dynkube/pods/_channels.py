"""The protocol of exec and attach: messages that begin with the number of a channel. Pure.

In ``v5.channel.k8s.io`` (Kubernetes 1.30) a client can close its stdin, by a message of the byte 255 and the channel
(KEP-4006). At the end the server sends a Status on the channel for errors, which has the exit code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from dynkube.errors import Status

if TYPE_CHECKING:
    from dynkube.rest._websocket import Piece

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)

CHUNK: Final = 32 << 10
"""Bytes of data in one message, as kubectl sends them; servers take up to 64 KiB."""

_CLOSE: Final = 255


def framed(channel: int, data: bytes | bytearray | memoryview) -> bytes:
    """Return a message with data on a channel."""
    return bytes([channel]) + data


def closing(channel: int) -> bytes:
    """Return the message that closes a channel, in version 5."""
    return bytes([_CLOSE, channel])


def resizing(columns: int, rows: int) -> bytes:
    """Return the message with the size of a terminal."""
    return framed(RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())


class Demultiplexer:
    """Finds the channel of each part of a message, wherever messages are split."""

    def __init__(self) -> None:
        self._channel: int | None = None  # of the current message; None before its first byte

    def feed(self, piece: Piece) -> tuple[int, bytes]:
        """Return the channel of a part and its data; ``-1`` if the message has no byte yet."""
        data = piece.data
        if piece.begins:
            self._channel = None
        if self._channel is None and data:
            self._channel, data = data[0], data[1:]
        return -1 if self._channel is None else self._channel, data


def exit_code_of(status: bytes) -> int | Status:
    """Return the exit code that the Status at the end of a command has.

    Returns the Status itself if it has none: the command was not started, or its exit code is not known.
    """
    try:
        decoded = msgspec.json.decode(status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        return Status(code=500, message=status[:10_000].decode("utf-8", "replace"))
    if decoded.get("status") == "Success":
        return 0
    failure = Status.from_mapping(decoded)
    if failure.reason == "NonZeroExitCode":
        codes = [cause.message for cause in failure.causes if cause.reason == "ExitCode"]
        if codes and codes[0].isascii() and codes[0].isdigit() and len(codes[0]) < 10:
            return int(codes[0])
    return failure
