"""Compression of long responses for clients that accept gzip."""

from __future__ import annotations

import zlib

import trio

from dynkube_testing._asgi import Message, Send

# As in kube-apiserver: the fastest compression level, and the minimum body length in bytes.
_LEVEL = 1
_THRESHOLD = 128 * 1024
_GZIP_FORMAT = 16 + zlib.MAX_WBITS


class GzipSend:
    """An ASGI ``send`` that compresses the body if it is long.

    Nothing is sent until the body is complete or known to be long, so do not use this for watches. Each call for a body
    message is a checkpoint, even if the data is only buffered: code that sends a body in pieces relies on that.

    Args:
        send: The underlying ``send``.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._held: list[bytes] = []
        self._size = 0
        self._compress: zlib._Compress | None = None

    async def __call__(self, message: Message) -> None:
        """Send, compress or buffer the next message of the response."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        data, last = message.get("body", b""), not message.get("more_body", False)
        if self._compress is not None:
            await self._write(data, last=last)
            return
        self._held.append(data)
        self._size += len(data)
        if self._size > _THRESHOLD:
            await self._begin(last=last)
        elif last:
            await self._pass_on()
        else:
            await trio.lowlevel.checkpoint()

    async def _begin(self, *, last: bool) -> None:
        """Send the headers of a compressed response, and the buffered part of its body."""
        assert self._start is not None, "an answer begins with its headers"
        headers = [(name, value) for name, value in self._start["headers"] if name != b"content-length"]
        headers += [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
        await self._send({**self._start, "headers": headers})
        self._compress = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
        held, self._held = self._held, []
        for data in held[:-1]:
            await self._write(data, last=False)
        await self._write(held[-1], last=last)

    async def _write(self, data: bytes, *, last: bool) -> None:
        assert self._compress is not None
        out = self._compress.compress(data)
        if last:
            out += self._compress.flush()
        if out or last:
            await self._send({"type": "http.response.body", "body": out, "more_body": not last})
        else:
            await trio.lowlevel.checkpoint()

    async def _pass_on(self) -> None:
        """Send a short response unchanged."""
        assert self._start is not None, "an answer begins with its headers"
        await self._send(self._start)
        body = b"".join(self._held)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
