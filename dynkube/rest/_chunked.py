"""A decoder for the chunked coding of HTTP/1.1 (RFC 9112, 7.1). Pure."""

from __future__ import annotations

import re

# The size line of a chunk. All but the first follow the line end of the previous chunk.
_FIRST = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_NEXT = re.compile(rb"\r\n" + _FIRST.pattern)
_MAX_SIZE_LINE = 4096


class ChunkDecoder:
    """Decodes a chunked body incrementally.

    Payload is returned in pieces as large as the input. An API server writes each watch event as a separate chunk. For
    an event of a few KB, parsing the chunk with a general HTTP parser takes longer than all other processing. This
    decoder handles all chunks of a read at once, and stops before the last chunk, which is left to the HTTP parser
    together with the trailers.

    Attributes:
        rest: ``None`` until the last chunk, then the undecoded bytes from its size line on.
        fault: a description of an error in the coding; ``""`` if there was none.
    """

    __slots__ = ("_left", "_pattern", "_pending", "fault", "rest")

    def __init__(self) -> None:
        self._pattern = _FIRST
        self._pending = b""  # the beginning of a size line
        self._left = 0  # bytes of payload left in this chunk
        self.rest: bytes | None = None
        self.fault = ""

    def feed(self, data: bytes) -> bytes:
        """Return the payload in ``data``, possibly empty.

        Must not be called once ``rest`` or ``fault`` is set.
        """
        if self._pending:
            data = self._pending + data
            self._pending = b""
        position = min(self._left, len(data))
        self._left -= position
        if position == len(data):
            return data
        parts = [data[:position]] if position else []
        while position < len(data):
            match = self._pattern.match(data, position)
            if match is None:
                self._keep(data[position:])
                break
            size = int(match[1], 16)
            if not size:
                self.rest = data[match.start(1) :]
                break
            self._pattern = _NEXT
            start = match.end()
            position = min(start + size, len(data))
            self._left = start + size - position
            parts.append(data[start:position])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _keep(self, line: bytes) -> None:
        """Keep an incomplete size line for the next call, if it may still become valid."""
        begun = line[2:] if self._pattern is _NEXT and line[:2] == b"\r\n" else line
        if b"\n" in begun or len(line) > _MAX_SIZE_LINE:
            self.fault = f"{line[:20]!r} is not a valid chunk size"
        self._pending = line
