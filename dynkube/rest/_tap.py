"""Connections that can hand a body's bytes out directly, past the HTTP parser.

httpcore2 reads a whole buffer and cuts it into one piece for each chunk of the chunked coding, each through four
async generators: measured 22 us for an event of 5 KB, several times what decoding it costs. So a :class:`TappedStream`
lets the parser see no more than the head of each answer and keeps what was read beyond it. Then either the parser
reads on and notices nothing, or the transport takes the bytes itself and gives the end of the body back, so that the
parser sees an empty body and the connection can be used again. All of it is done through what httpcore2 offers:
its ``network_backend`` parameter and the ``network_stream`` extension of its responses.

The parser never gets more than one response. h11 keeps bytes beyond its end in its buffer, where they would be taken
for the response to the next request; here they stay outside, and the connection counts as readable while idle, which
has the pool close it. Go's ``net/http`` closes such a connection as well ("Unsolicited response received on idle HTTP
channel").
"""

from __future__ import annotations

import re
import ssl

import httpcore2

_READ_BYTES = 1 << 18  # measured: a larger read costs less than the wake-ups it saves
_HEAD_END = re.compile(rb"\n\r?\n")  # as lenient as h11, so that both see the same end
_START = len(b"HTTP/1.1 2")


class TappedStream(httpcore2.AsyncNetworkStream):
    """A connection that gives the parser a head and no more, unless it asks on.

    A head that does not end, or is followed by further interim ones without end, is an error after ``max_head`` bytes;
    so are the trailers of a chunked body.

    Attributes:
        at_body: the parser has been given a whole head and nothing beyond it.
    """

    def __init__(self, inner: httpcore2.AsyncNetworkStream, *, max_head: int) -> None:
        self._inner = inner
        self._max_head = max_head
        self._head = 0  # bytes of heads since the request: interim answers count, or they could come for ever
        self._kept = b""  # read from the network, not yet given to the parser
        self._start = b""  # of the head under way: enough to tell an interim answer
        self._tail = b""  # of the head under way: where its end may have begun
        self._left: int | None = None  # bytes of the body that the parser may still be given; None: as many as come
        self._in_trailers = False
        self.at_body = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """For the parser: bytes up to the end of the head, of the body as many as belong to it, or of the trailers."""
        if self.at_body and self._left == 0:
            return b""  # what comes now belongs to no response
        data = self._kept or await self._inner.read(max_bytes, timeout)
        self._kept = b""
        if self.at_body:
            return self._of_body(data)
        self._start += data[: _START - len(self._start)]
        seen = self._tail + data
        match = _HEAD_END.search(seen)
        if match is None:
            self._tail = seen[-2:]
            self._count(len(data))
            return data
        end = match.end() - len(self._tail)
        self._count(end)
        self._kept = data[end:]
        # An interim answer ("HTTP/1.1 100 Continue") is followed by the head of the final one.
        self.at_body = self._in_trailers or self._start[_START - 1 :] != b"1"
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
                f"the head of the answer is larger than {self._max_head} bytes (Limits.max_header_bytes): "
                "it is not an API server that writes so many header fields, or raise the bound"
            )

    def expect(self, size: int) -> None:
        """The body has ``size`` bytes: the parser is given no more than these."""
        self._left = size

    async def read_body(self) -> bytes:
        """For the one who takes the body: its bytes as they come; ``b""`` if the connection ended."""
        data, self._kept = self._kept, b""
        return data or await self._inner.read(_READ_BYTES)

    def give_back(self, data: bytes) -> None:
        """Let the parser see ``data`` next, from the size line of the last chunk on, up to the end of the trailers."""
        self._kept = data + self._kept
        self._in_trailers = True
        self.at_body = False
        self._head = 0

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send; the next thing to come is the head of an answer.

        Raises:
            httpcore2.RemoteProtocolError: bytes came before it that belong to no response.
        """
        if self._kept:
            raise httpcore2.RemoteProtocolError("the connection ended with bytes that belong to no response")
        self.at_body = self._in_trailers = False
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
        """Go on in TLS; where that negotiates HTTP/2, without a tap."""
        encrypted = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        ssl_object = encrypted.get_extra_info("ssl_object")
        if ssl_object is not None and ssl_object.selected_alpn_protocol() == "h2":
            return encrypted
        return TappedStream(encrypted, max_head=self._max_head)

    def get_extra_info(self, info: str) -> object:
        """What the connection knows about itself."""
        if info == "is_readable" and (self._kept or self._has_decrypted()):
            return True
        return self._inner.get_extra_info(info)

    def _has_decrypted(self) -> bool:
        """Whether TLS has bytes to give that were read from the socket already: a record of their own, mostly.

        For an idle connection only: nobody else reads it. The end of the stream counts, too.
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
