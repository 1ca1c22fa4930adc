"""Decompresses gzip bodies (RFC 1952) in pieces of limited size. Pure.

kube-apiserver compresses responses of more than 128 KiB, except watches, if the client accepts gzip.
"""

from __future__ import annotations

import zlib
from typing import Final

from dynkube.errors import ProtocolError

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE: Final = 256 << 10  # bytes that are decompressed at once: less than a millisecond
_MOST_RATIO: Final = 400  # JSON of equal objects shrinks to a hundredth at most; deflate allows 1,032
_FREE: Final = 4 << 20  # bytes for which no ratio applies


class GzipBody:
    """One compressed body: :meth:`feed` it what arrives, then :meth:`take` pieces until there is nothing left."""

    __slots__ = ("_decompressor", "_full", "_input", "_received", "size")

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(_GZIP)
        self._input = b""
        self._full = False  # whether the last piece was cut, so that there may be more without further input
        self._received = 0
        self.size: int = 0
        """Bytes decompressed so far."""

    def feed(self, chunk: bytes) -> None:
        """Add what has arrived; everything before it was taken."""
        self._input = chunk
        self._received += len(chunk)

    def take(self) -> bytes:
        """Return the next piece; ``b""`` if more has to be fed first.

        Raises:
            ProtocolError: the body is not gzip, has bytes after its end, or expands to too many times its size.
        """
        while self._input or self._full:
            if piece := self._step():
                return piece
        return b""

    def _step(self) -> bytes:
        decompressor = self._decompressor
        if decompressor.eof:
            raise ProtocolError("the compressed response has bytes after its end")
        try:
            piece = decompressor.decompress(self._input, _PIECE)
        except zlib.error as exc:
            raise ProtocolError(f"the compressed response is not valid gzip: {exc}") from exc
        self._input = decompressor.unconsumed_tail or decompressor.unused_data
        self._full = len(piece) == _PIECE and not decompressor.eof
        self.size += len(piece)
        if self.size > _FREE + _MOST_RATIO * self._received:
            raise ProtocolError(
                f"the compressed response expands to more than {_MOST_RATIO} times its size: "
                f"{self._received:,} bytes to {self.size:,} and more; connect without compression to accept it"
            )
        return piece

    def check_complete(self) -> None:
        """Check that the body had its end.

        Raises:
            ProtocolError: it is cut short.
        """
        if not self._decompressor.eof:
            raise ProtocolError(f"the compressed response is incomplete, after {self.size:,} bytes decompressed")
