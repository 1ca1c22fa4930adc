"""The server's side of SPDY/3.1, as far as kubectl uses it: streams that the client opens, with headers and data.

Go's clients of Kubernetes forward ports over SPDY, on a connection of its own or inside a WebSocket (KEP-4006), and
ignore its flow control, like this server: a stream whose data is not read blocks the others. No kept Python package
speaks SPDY; its format is in https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

import trio

from dynkube_testing._containers.pipes import PipeReader, open_pipe

_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING = 1, 2, 3, 6
_VERSION: Final = 0x8003  # the bit of control frames, and version 3
_FIN: Final = 1
_REFUSED: Final = 3  # REFUSED_STREAM
_READ: Final = 64 * 1024
_CHUNK: Final = 32 * 1024  # of data in one frame
_MAX_FRAME: Final = 1 << 20  # bytes; clients send at most 32 KiB of data in one frame
_MAX_HEADERS: Final = 1 << 16  # bytes, decompressed
_MAX_STREAMS: Final = 2000  # that are open; two for each connection to a port

# The dictionary for the compression of headers: names with their length, and a text (SPDY/3, section 2.6.10.1).
_NAMES: Final = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|accept-ranges|age|allow|"
    "authorization|cache-control|connection|content-base|content-encoding|content-language|content-length|"
    "content-location|content-md5|content-range|content-type|date|etag|expect|expires|from|host|if-match|"
    "if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|location|max-forwards|pragma|"
    "proxy-authenticate|proxy-authorization|range|referer|retry-after|server|te|trailer|transfer-encoding|upgrade|"
    "user-agent|vary|via|warning|www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|"
    "keep-alive|origin"
)
_TEXT: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
_DICTIONARY: Final = b"".join(len(name).to_bytes(4) + name.encode() for name in _NAMES.split("|")) + _TEXT.encode()


class SpdyError(Exception):
    """The client has sent something malformed or too large."""


class _Frame(NamedTuple):
    """A frame; ``kind`` is 0 for data."""

    kind: int
    stream: int
    flags: int
    payload: bytes


class _Parser:
    """Splits bytes into frames, and decompresses headers."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=_DICTIONARY)

    def feed(self, data: bytes) -> Iterator[_Frame]:
        """Add bytes, and iterate over the frames that are complete."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, rest = struct.unpack_from("!II", self._buffer)
            size = rest & 0xFFFFFF
            if size > _MAX_FRAME:
                raise SpdyError(f"a frame of {size} bytes; at most {_MAX_FRAME} are accepted")
            if len(self._buffer) < 8 + size:
                return
            payload = bytes(self._buffer[8 : 8 + size])
            del self._buffer[: 8 + size]
            if not first >> 31:
                yield _Frame(0, first, rest >> 24, payload)
            elif first >> 16 == _VERSION:
                stream = int.from_bytes(payload[:4]) & 0x7FFFFFFF
                yield _Frame(first & 0xFFFF, stream, rest >> 24, payload)
            else:
                raise SpdyError(f"a control frame of version {first >> 16 & 0x7FFF}; 3 is supported")

    def headers(self, block: bytes) -> dict[str, str]:
        """Return the headers of a compressed block; names are in lower case."""
        try:
            plain = self._inflate.decompress(block, _MAX_HEADERS)
            if self._inflate.unconsumed_tail:
                raise SpdyError(f"headers of more than {_MAX_HEADERS} bytes")
            texts = list(_texts(plain))
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"malformed headers: {error}") from error
        return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=False)}


def _texts(block: bytes) -> Iterator[str]:
    (count,), at = struct.unpack_from("!I", block), 4
    for _ in range(min(2 * count, len(block))):
        (size,) = struct.unpack_from("!I", block, at)
        yield block[at + 4 : at + 4 + size].decode()
        at += 4 + size


class SpdyStream:
    """A stream that the client has opened."""

    def __init__(self, connection: SpdyConnection, number: int, headers: Mapping[str, str]) -> None:
        self.headers = headers
        self._connection = connection
        self._number = number
        self._incoming, received = open_pipe()
        self.received: PipeReader = received
        """What the client sends; ends when it ends the stream or the connection."""
        self._open = {"here", "there"}

    async def send(self, data: bytes) -> None:
        """Send data. Does nothing if the connection is closed."""
        for offset in range(0, len(data), _CHUNK):
            await self._connection.send(self._number, data[offset : offset + _CHUNK])

    async def end(self) -> None:
        """End this side of the stream."""
        if "here" in self._open:
            self._ended("here")
            await self._connection.send(self._number, b"", _FIN)

    async def deliver(self, data: bytes, *, last: bool) -> None:
        """Pass on data of the client; blocks while it is not read."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # it is not read any more
            await self._incoming.send_all(data)
        if last:
            self.no_more()

    def no_more(self) -> None:
        """End what is received."""
        self._incoming.close()
        self._ended("there")

    def _ended(self, side: str) -> None:
        self._open.discard(side)
        if not self._open:
            self._connection.forget(self._number)


class SpdyConnection:
    """A connection whose client opens streams.

    Args:
        transport: The connection after the response 101.
    """

    def __init__(self, transport: trio.abc.Stream) -> None:
        self._transport = transport
        self._streams: dict[int, SpdyStream] = {}
        self._deflate = zlib.compressobj(zdict=_DICTIONARY)
        self._sending = trio.Lock()

    async def run(self, accept: Callable[[SpdyStream], bool]) -> None:
        """Serve the streams until the client closes the connection.

        Args:
            accept: Is called with each new stream, and returns whether it is accepted; then it must be served in a task
                of its own.

        Raises:
            SpdyError: The client has sent something malformed or too large.
        """
        parser = _Parser()
        try:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while data := await self._transport.receive_some(_READ):
                    for frame in parser.feed(bytes(data)):
                        await self._handle(frame, parser, accept)
        finally:
            for stream in tuple(self._streams.values()):
                stream.no_more()

    async def send(self, number: int, data: bytes, flags: int = 0) -> None:
        """Send a frame with data of a stream."""
        await self._write(struct.pack("!II", number, flags << 24 | len(data)) + data)

    def forget(self, number: int) -> None:
        """Remove a stream that both sides have ended."""
        self._streams.pop(number, None)

    async def _handle(self, frame: _Frame, parser: _Parser, accept: Callable[[SpdyStream], bool]) -> None:
        stream = self._streams.get(frame.stream)
        match frame.kind:
            case 0 if stream is not None:
                await stream.deliver(frame.payload, last=bool(frame.flags & _FIN))
            case 1:  # SYN_STREAM: the number, that of an associated stream, priority and slot, and headers
                stream = SpdyStream(self, frame.stream, parser.headers(frame.payload[10:]))
                await self._open(frame, stream, accept)
            case 3 if stream is not None:  # RST_STREAM
                stream.no_more()
                self.forget(frame.stream)
            case 6 if frame.stream % 2:  # PING of the client: send it back
                await self._control(_PING, frame.payload)

    async def _open(self, frame: _Frame, stream: SpdyStream, accept: Callable[[SpdyStream], bool]) -> None:
        if len(self._streams) >= _MAX_STREAMS or not accept(stream):
            await self._control(_RST_STREAM, struct.pack("!II", frame.stream, _REFUSED))
            return
        self._streams[frame.stream] = stream
        no_headers = self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        await self._control(_SYN_REPLY, struct.pack("!I", frame.stream) + no_headers)
        if frame.flags & _FIN:
            stream.no_more()

    async def _control(self, kind: int, payload: bytes) -> None:
        await self._write(struct.pack("!HHI", _VERSION, kind, len(payload)) + payload)

    async def _write(self, data: bytes) -> None:
        async with self._sending:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # run() notices that
                await self._transport.send_all(data)
