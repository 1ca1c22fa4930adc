"""An answer whose body comes piece by piece, and the one that holds it together with its connection."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping

import httpx2
import trio

from dynkube._server_text import sanitized
from dynkube.errors import ClosedError, ConnectionLost, DynkubeError, ProtocolError
from dynkube.rest._attempts import Attempt, Counters
from dynkube.rest._failures import FAILURES, Peer, harmless_cause, understand
from dynkube.rest._headers import joined
from dynkube.rest._pools import Pools
from dynkube.rest._redaction import Redactor
from dynkube.rest._warnings import parse_warnings


class Exchange:
    """A response whose head has come, the pools its connection belongs to, and the bytes read so far.

    It has to be closed. Closing before the end of the body closes the connection at once; after it, the connection
    goes back to its pool.
    """

    __slots__ = (
        "_bound",
        "_chunks",
        "_closed",
        "_counters",
        "_ended",
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
        self.received: int = 0
        self.failure: DynkubeError | None = None

    async def read(self) -> bytes:
        """The next chunk; ``b""`` at the end.

        Raises:
            ConnectionLost: the body was cut.
            ProtocolError: what came is no HTTP, or is larger than it may be; of that nothing too much is given.
            ClosedError: the exchange was closed.
        """
        if self._closed:
            raise ClosedError(f"{self.text}: the stream is closed, or its block has been left")
        announced = self.headers.get("content-length", "")
        if self._bound is not None and not self.received and announced.isdecimal() and len(announced) < 20:
            self._check_size(int(announced), self._bound)
        cause: Exception | None = None
        try:
            while not (chunk := await anext(self._chunks)):
                pass  # an empty chunk is no end
        except StopAsyncIteration:
            self._ended = True
            return b""
        except FAILURES as exc:
            if not self.pools.closed:
                failed = understand(exc, text=self.text, peer=self.peer, received=self.received, redact=self.redact)
                self.failure = failed.error
            cause = harmless_cause(exc, self.redact)
            chunk = b""
        # Out here, where the error does not get what caused it as its context: that may quote the credential.
        if self.failure is not None:
            raise self.failure from cause
        if not chunk:
            raise ClosedError(f"{self.text}: the client was closed under the stream") from cause
        self.received += len(chunk)
        self._counters.received += len(chunk)
        if self._bound is not None:
            self._check_size(self.received, self._bound)
        return chunk

    def _check_size(self, size: int, bound: int) -> None:
        if size > bound:
            self.failure = ProtocolError(
                f"{self.text}: the answer is larger than {bound} bytes (Limits.max_response_bytes): ask for less at a "
                "time (limit=, or page_size of InformerSettings), or raise the bound: connect(limits=...)"
            )
            raise self.failure

    async def aclose(self) -> None:
        """Close the body and give the pools back. Not interrupted by cancellation: it does not wait for the server."""
        if self._closed:
            return
        self._closed = True
        # Closed before its end, it is for what its reader is raising: a deadline, or an answer that cannot be read.
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

    Chunks come as they arrive, cut anywhere. A clean end ends the iteration; a cut one raises. Cancelling an iteration
    loses nothing but the stream itself, which is of no use afterwards.

    Attributes:
        status: the HTTP status code, 2xx.
        headers: with names in lower case.
        warnings: texts of the server's ``Warning`` fields.
        request: what was asked, for messages.
        deadline: when the time that the request had is over, on trio's clock. Nothing happens then by itself; it is
            for those who want the whole answer in that time, and does not count what a plugin took to log in.
        reader: the scope that whoever reads has around it, if it is to be woken when the stream is given up. (A scope
            of our own around each step would cost as much as decoding a small event.)
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
        """The next chunk, never empty.

        Raises:
            ConnectionLost: the connection was lost, or the body ended before its end.
            ProtocolError: what came is no HTTP.
            ClosedError: the stream or its client was closed.
        """
        self.check_trusted()
        chunk = await self._exchange.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk

    @property
    def redact(self) -> Redactor:
        """Takes the request's secrets out of an error that quotes what came."""
        return self._exchange.redact

    def give_up(self, reason: str) -> None:
        """Trust it no longer: wake whoever waits, by ``reader``, and have the next step raise ConnectionLost."""
        self._given_up = reason
        if self.reader is not None:
            self.reader.cancel()

    def check_trusted(self) -> None:
        """To be called when ``reader`` was cancelled.

        Raises:
            ConnectionLost: it was given up.
        """
        if self._given_up:
            self._exchange.failure = error = ConnectionLost(f"{self.request}: given up: {self._given_up}")
            raise error

    @property
    def received(self) -> int:
        """Bytes that have come."""
        return self._exchange.received

    def __repr__(self) -> str:
        return f"<ByteStream {self.request}: {self.received} bytes received>"
