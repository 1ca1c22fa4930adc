"""Responses with a streamed body."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

import httpx2
import trio

from dynkube._server_text import sanitized
from dynkube.errors import ClosedError, ConnectionLost, DynkubeError, ProtocolError
from dynkube.rest._attempts import Attempt, Counters
from dynkube.rest._failures import FAILURES, Peer, harmless_cause, understand
from dynkube.rest._gzip import GzipBody
from dynkube.rest._headers import joined
from dynkube.rest._pools import Pools
from dynkube.rest._redaction import Redactor
from dynkube.rest._warnings import parse_warnings

if TYPE_CHECKING:
    import httpcore2


class Exchange:
    """A response whose head has arrived, and the connection of its body.

    It must be closed. Closing it before the end of the body closes the connection immediately; after that, the
    connection returns to its pool.
    """

    __slots__ = (
        "_bound",
        "_chunks",
        "_closed",
        "_counters",
        "_ended",
        "_gzip",
        "_response",
        "attempt",
        "failure",
        "headers",
        "peer",
        "pools",
        "received",
        "redact",
        "status",
        "text",
        "warnings",
    )

    def __init__(
        self,
        response: httpx2.Response,
        pools: Pools,
        attempt: Attempt,
        counters: Counters,
        *,
        text: str,
        peer: Peer,
        bound: int | None,
        redact: Redactor,
        compressible: bool,
    ) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._response = response
        self._chunks = aiter(response.stream)
        self._closed = False
        self._bound = bound
        self._counters = counters
        self._ended = False  # the body was read to its end
        self.attempt: Attempt = attempt
        self.pools: Pools = pools
        self.text: str = text
        self.peer: Peer = peer
        self.status: int = response.status_code
        self.redact: Redactor = redact
        self.headers: Mapping[str, str] = {
            name: redact.address(value) if name == "location" else redact(value)
            for name, value in joined(response.headers.multi_items()).items()
        }
        self.warnings: tuple[str, ...] = tuple(
            sanitized(redact(warning)) for warning in parse_warnings(response.headers.get_list("warning"))
        )
        self._gzip: GzipBody | None = None
        if compressible and self.headers.get("content-encoding", "").strip().lower() == "gzip":
            empty = self.headers.get("content-length") == "0" or self.status in (204, 304)
            of_body = ("content-encoding", "content-length")  # of the compressed body, which callers do not see
            self.headers = {name: value for name, value in self.headers.items() if name not in of_body}
            self._gzip = None if empty else GzipBody()
        self.received: int = 0
        self.failure: DynkubeError | None = None

    async def read(self) -> bytes:
        """Return the next chunk, decompressed; ``b""`` at the end.

        Raises:
            ConnectionLost: the connection ended before the end of the body.
            ProtocolError: the body is not valid HTTP or gzip, or exceeds the size limit; nothing beyond the limit is
                returned.
            ClosedError: the exchange was closed.
        """
        body = self._gzip
        if body is None or self._closed:
            return await self._receive()
        if piece := self._decompressed(body):
            await trio.lowlevel.checkpoint()  # a few bytes may be many pieces
            return piece
        while chunk := await self._receive():
            body.feed(chunk)
            if piece := self._decompressed(body):
                return piece
        self._decompressed(body, last=True)
        return b""

    def _decompressed(self, body: GzipBody, *, last: bool = False) -> bytes:
        try:
            piece = body.take()
            if last:
                body.check_complete()
        except ProtocolError as exc:
            self.failure = ProtocolError(f"{self.text}: {exc}")
        else:
            if self._bound is not None:
                self._check_size(body.size, self._bound)
            return piece
        raise self.failure

    async def _receive(self) -> bytes:
        """Return what has arrived; ``b""`` at the end of the body."""
        if self._closed:
            raise ClosedError(f"{self.text}: the stream is closed, or its with block was exited")
        announced = self.headers.get("content-length", "")
        if self._bound is not None and not self.received and announced.isdecimal() and len(announced) < 20:
            self._check_size(int(announced), self._bound)
        cause: Exception | None = None
        handled = sys.exception()
        try:
            while not (chunk := await anext(self._chunks)):
                pass  # an empty chunk is not the end
        except StopAsyncIteration:
            self._ended = True
            return b""
        except FAILURES as exc:
            if not self.pools.closed:
                self.fail(exc, handled)
            cause = harmless_cause(exc, self.redact)
            chunk = b""
        # Raised outside the except block, so that the transport's exception does not become its context: it may quote
        # the credential.
        if self.failure is not None:
            raise self.failure from cause
        if not chunk:
            raise ClosedError(f"{self.text}: the client was closed while the stream was open") from cause
        self.count(len(chunk))
        if self._bound is not None:
            self._check_size(self.received, self._bound)
        return chunk

    def fail(self, exc: Exception, handled: BaseException | None) -> DynkubeError:
        """Keep the error of the connection as the failure of the exchange, and return it.

        Args:
            exc: the error of the transport.
            handled: the exception that was being handled meanwhile; see :func:`understand`.
        """
        failed = understand(
            exc, text=self.text, peer=self.peer, received=self.received, handled=handled, redact=self.redact
        )
        self.failure = failed.error
        return failed.error

    def count(self, size: int) -> None:
        """Count bytes that were received."""
        self.received += size
        self._counters.received += size

    @property
    def network_stream(self) -> httpcore2.AsyncNetworkStream | None:
        """The connection itself, of a response that has switched it to another protocol; ``None`` if there is none."""
        stream: httpcore2.AsyncNetworkStream | None = self._response.extensions.get("network_stream")
        return stream

    def _check_size(self, size: int, bound: int) -> None:
        if size > bound:
            self.failure = ProtocolError(
                f"{self.text}: the response is larger than {bound} bytes (Limits.max_response_bytes): request less "
                "at a time (limit=, or page_size of InformerSettings), or raise the limit: connect(limits=...)"
            )
            raise self.failure

    async def aclose(self) -> None:
        """Close the body and release the pools.

        Shielded from cancellation: it does not wait for the server.
        """
        if self._closed:
            return
        self._closed = True
        # If it is closed before its end, the reason is the exception that the reader is raising: a deadline, or an
        # undecodable response.
        error = self.failure or (None if self._ended else sys.exception())
        self.attempt.end(code=self.status, received=self.received, error=error)
        with trio.CancelScope(shield=True):
            try:
                if close := getattr(self._chunks, "aclose", None):
                    await close()
                await self._response.aclose()
            finally:
                await self.pools.release()


class ByteStream(AsyncIterator[bytes]):
    """The body of an open stream: ``async for chunk in stream``.

    Chunks are yielded as they arrive, split anywhere. The iteration stops at the end of the body, and raises if the
    connection ends before it. After a cancelled iteration the stream cannot be used any more.

    Attributes:
        status: the HTTP status code, 2xx.
        headers: with names in lower case.
        warnings: texts of the server's ``Warning`` headers.
        request: the request line, for messages.
        deadline: the end of the request's timeout, on trio's clock, extended by the time a credential plugin took. Not
            enforced here; it is for callers that want the whole response within that time.
        reader: the cancel scope around the reader; cancelled when the stream is given up. ``None`` if there is none.
            (A scope around each step would take as long as decoding a small event.)
    """

    __slots__ = ("_exchange", "_given_up", "deadline", "headers", "reader", "request", "status", "warnings")

    def __init__(self, exchange: Exchange, *, deadline: float) -> None:
        self._exchange = exchange
        self._given_up: str = ""  # why
        self.reader: trio.CancelScope | None = None
        self.status: int = exchange.status
        self.headers: Mapping[str, str] = exchange.headers
        self.warnings: tuple[str, ...] = exchange.warnings
        self.request: str = exchange.text
        self.deadline: float = deadline

    async def __anext__(self) -> bytes:
        """Return the next chunk, never empty.

        Raises:
            ConnectionLost: the connection ended before the end of the body, or the stream was given up.
            ProtocolError: the body is not valid HTTP or gzip.
            ClosedError: the stream or its client was closed.
        """
        self.check_trusted()
        chunk = await self._exchange.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk

    @property
    def redact(self) -> Redactor:
        """Removes the request's secrets from an error that quotes the body."""
        return self._exchange.redact

    def give_up(self, reason: str) -> None:
        """Give up the stream, and cancel ``reader``; the next read raises ConnectionLost."""
        self._given_up = reason
        if self.reader is not None:
            self.reader.cancel()

    def check_trusted(self) -> None:
        """Raise an error if the stream was given up.

        To be called after ``reader`` was cancelled.

        Raises:
            ConnectionLost: the stream was given up.
        """
        if self._given_up:
            self._exchange.failure = error = ConnectionLost(f"{self.request}: given up: {self._given_up}")
            raise error

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return self._exchange.received

    def __repr__(self) -> str:
        return f"<ByteStream {self.request}: {self.received} bytes received>"
