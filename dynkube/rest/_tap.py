"""Connections that expose a body's raw bytes, bypassing the HTTP parser.

httpcore2 reads a whole buffer and splits it into one piece for each chunk of the chunked coding, each passed through
four async generators: measured 22 us for an event of 5 KB, several times the cost of decoding it. So a
:class:`TappedStream` passes only the head of each response to the parser and keeps the bytes read beyond it. Then
either the parser continues to read, unaffected, or the transport takes the bytes itself and gives the end of the body
back, so that the parser sees an empty body and the connection can be reused. This uses only public API of httpcore2:
its ``network_backend`` parameter and the ``network_stream`` extension of its responses.

The parser never receives more than one response. h11 keeps bytes after the end in its buffer, where they would be taken
for the response to the next request; here they stay outside, and the connection counts as readable while idle, so that
the pool closes it. Go's ``net/http`` closes such a connection as well ("Unsolicited response received on idle HTTP
channel").
"""

from __future__ import annotations

import re
import ssl
from contextlib import suppress

import httpcore2
import trio

from dynkube.rest._bursts import Burst

_READ_BYTES = 1 << 18  # measured: a larger buffer costs less than the wake-ups it saves
_HEAD_END = re.compile(rb"\n\r?\n")  # as lenient as h11, so that both find the same end
_START = len(b"HTTP/1.1 2")
_SWITCHED = b"HTTP/1.1 101"


class TappedStream(httpcore2.AsyncNetworkStream):
    """A connection of which no read goes beyond the head of a response: further reads return what follows.

    It is an error if a head exceeds ``max_head`` bytes together with the interim (1xx) heads before it, or if trailers
    exceed as many.

    Attributes:
        at_body: whether the parser has received a complete head and nothing after it.
        requested: whether a request was sent, or TLS started. What is read before that are replies of a SOCKS proxy,
            which may have any bytes.
    """

    def __init__(self, inner: httpcore2.AsyncNetworkStream, *, max_head: int) -> None:
        self._inner = inner
        self._max_head = max_head
        self._head = 0  # bytes of heads since the request: interim ones count, or they could continue for ever
        self._kept = b""  # read from the network, not yet passed to the parser
        self._start = b""  # start of the current head: enough to detect an interim response
        self._tail = b""  # last bytes of the current head, where its end may have begun
        self._left: int | None = None  # bytes of the body that may still be passed to the parser; None: no limit
        self._in_trailers = False
        self._burst = Burst()
        self._switched = False  # to another protocol: all further bytes are its own
        self._pause = 0.0  # seconds before the next read of a body
        self.at_body = False
        self.requested = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read for the parser: up to the end of the head, the body, or the trailers."""
        if self._switched:
            return await self._inner.read(max_bytes, timeout)
        if not self.requested:
            if reply := await self._inner.read(max_bytes, timeout):
                return reply
            raise httpcore2.ProxyError("the SOCKS proxy closed the connection")
        if self.at_body and self._left == 0:
            return b""  # further bytes belong to no response
        data = self._kept or await self._inner.read(max_bytes, timeout)
        self._kept = b""
        if self.at_body:
            return self._of_body(data)
        self._start += data[: len(_SWITCHED) - len(self._start)]
        seen = self._tail + data
        match = _HEAD_END.search(seen)
        if match is None:
            self._tail = seen[-2:]
            self._count(len(data))
            return data
        end = match.end() - len(self._tail)
        self._count(end)
        if self._start == _SWITCHED:
            self._switched = True
            return data  # the parser passes on what follows the head
        self._kept = data[end:]
        # An interim response ("HTTP/1.1 100 Continue") is followed by the final head.
        self.at_body = self._in_trailers or self._start[_START - 1 : _START] != b"1"
        self._left = 0 if self._in_trailers else None
        self._start = self._tail = b""
        return data[:end]

    def _of_body(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        given, self._kept = data[: self._left], data[self._left :]
        self._left -= len(given)
        return given

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > self._max_head:
            raise httpcore2.RemoteProtocolError(
                f"the response headers are larger than {self._max_head} bytes (Limits.max_header_bytes): "
                "this may not be an API server, check server and proxy-url; or raise the limit"
            )

    def expect(self, size: int) -> None:
        """Set the size of the body: the parser receives no more than that."""
        self._left = size

    async def read_body(self) -> bytes:
        """Read what has arrived of the body, bypassing the parser; ``b""`` if the connection ended.

        While a body arrives in many small pieces, this waits a few milliseconds before it reads.
        """
        data, self._kept = self._kept, b""
        if data:
            return data
        if self._pause:
            await trio.sleep(self._pause)
        began = trio.current_time()
        data = await self._inner.read(_READ_BYTES) + self._decrypted()
        self._pause = self._burst.pause_after(len(data), trio.current_time() - began)
        return data

    def _decrypted(self) -> bytes:
        """Return what TLS has received and not returned: it returns one record a read, of at most 16 KiB."""
        ssl_object = self._inner.get_extra_info("ssl_object")
        if not isinstance(ssl_object, ssl.SSLObject):
            return b""
        parts: list[bytes] = []
        with suppress(OSError, ValueError):  # nothing is left, or the next read raises it again
            while part := ssl_object.read(_READ_BYTES):
                parts.append(part)
        return b"".join(parts)

    def give_back(self, data: bytes) -> None:
        """Pass ``data`` to the parser next.

        It starts at the size line of the last chunk; the parser reads up to the end of the trailers.
        """
        self._kept = data + self._kept
        self._in_trailers = True
        self.at_body = False
        self._head = 0

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a request; the next bytes received are the head of its response.

        Raises:
            httpcore2.RemoteProtocolError: bytes that belong to no response arrived before.
        """
        if self._kept:
            raise httpcore2.RemoteProtocolError("the connection ended with bytes that belong to no response")
        # The messages to a SOCKS proxy begin with the number of a version, a request with a letter.
        self.requested = self.requested or buffer[:1].isalpha()
        self.at_body = self._in_trailers = False
        self._pause = 0.0
        self._left = None
        self._head = 0
        self._start = self._tail = b""
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Start TLS; if HTTP/2 is negotiated, the returned stream is not tapped."""
        self.requested = True
        encrypted = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        ssl_object = encrypted.get_extra_info("ssl_object")
        if ssl_object is not None and ssl_object.selected_alpn_protocol() == "h2":
            return encrypted
        return TappedStream(encrypted, max_head=self._max_head)

    def get_extra_info(self, info: str) -> object:
        """Return information about the connection, as httpcore2 defines it."""
        if info == "is_readable" and (self._kept or self._has_decrypted()):
            return True
        return self._inner.get_extra_info(info)

    def _has_decrypted(self) -> bool:
        """Whether TLS has buffered bytes that were read from the socket.

        These are usually a separate record. For idle connections only, which have no other reader. The end of the
        stream counts, too.
        """
        ssl_object = self._inner.get_extra_info("ssl_object")
        if not isinstance(ssl_object, ssl.SSLObject):
            return False
        try:
            self._kept = ssl_object.read(1)
        except ssl.SSLWantReadError:
            return False
        except (OSError, ValueError):
            return True
        return True
