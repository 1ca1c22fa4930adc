"""Lines of logs: what users get, and how a stream of bytes is split into them.

Pure: no I/O.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

MAX_LINE: Final = 1 << 20
"""Bytes of a line after which it is split, so that no line needs more memory than that."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME: Final = re.compile(
    rb"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)(?: |\Z)"
)  # at the end of the bytes there is no space if a line is empty


class LogLine(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A line of a container's log; ``str()`` is its text.

    Attributes:
        raw: the bytes as the container wrote them, without the newline.
        pod: the pod's name.
        namespace: the pod's namespace.
        container: the container's name.
        timestamp_ns: when the container runtime received the line, in nanoseconds since the epoch; ``None`` unless
            timestamps were requested.
        continues: the line is longer than 1 MiB, and its next part follows as another ``LogLine``.
    """

    raw: bytes
    pod: str
    namespace: str
    container: str
    timestamp_ns: int | None = None
    continues: bool = False

    @property
    def text(self) -> str:
        """The line as text: UTF-8, in which each invalid byte is U+FFFD. Not sanitized for terminals."""
        return self.raw.decode(errors="replace")

    @property
    def timestamp(self) -> datetime | None:
        """When the container runtime received the line, in UTC; ``None`` unless timestamps were requested."""
        if self.timestamp_ns is None:
            return None
        return _EPOCH + timedelta(microseconds=self.timestamp_ns // 1000)

    def __str__(self) -> str:
        return self.text


def rfc3339(nanoseconds: int) -> str:
    """Format a timestamp as kubelets do: UTC, with nanoseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


class LineReader:
    """Splits a log with timestamps into lines: feed it chunks, get ``(timestamp, raw, continues)``.

    A line that has no timestamp of its own gets that of the line before it: kubelets write messages of their own into
    logs, and a log that begins at a time may begin inside a line. The timestamp is ``None`` as long as there was none.

    Args:
        max_line: bytes of a line, with its timestamp, after which it is split.
    """

    __slots__ = ("_begun", "_last", "_max_line", "_open", "_second", "_second_text", "_size")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._open: list[bytes] = []  # the chunks of a line that is not complete
        self._size = 0
        self._begun = False  # whether a part of the current line was returned already
        self._last: int | None = None
        self._second_text = b""
        self._second = 0

    def feed(self, chunk: bytes) -> list[tuple[int | None, bytes, bool]]:
        """Return the lines, or parts of long lines, that ``chunk`` completes."""
        found: list[tuple[int | None, bytes, bool]] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            start = end + 1
            if self._open:
                self._open.append(line)
                line = b"".join(self._open)
                self._open.clear()
                self._size = 0
            self._split(line, found, complete=True)
            self._begun = False
        if start < len(chunk):
            self._open.append(chunk[start:] if start else chunk)
            self._size += len(chunk) - start
            if self._size > self._max_line:
                line = b"".join(self._open)
                self._open = [rest] if (rest := self._split(line, found, complete=False)) else []
                self._size = len(rest)
        return found

    def finish(self) -> list[tuple[int | None, bytes, bool]]:
        """Return the last line if it has no newline; an empty list otherwise."""
        found: list[tuple[int | None, bytes, bool]] = []
        line = b"".join(self._open)
        self._open.clear()
        self._size = 0
        if line:
            self._split(line, found, complete=True)
        self._begun = False
        return found

    def _split(self, line: bytes, found: list[tuple[int | None, bytes, bool]], *, complete: bool) -> bytes:
        """Add the parts of a line; return what is left of one that is not complete."""
        most = self._max_line
        while len(line) > most:
            self._add(line[:most], found, continues=True)
            line = line[most:]
        if not complete:
            return line
        self._add(line, found, continues=False)
        return b""

    def _add(self, part: bytes, found: list[tuple[int | None, bytes, bool]], *, continues: bool) -> None:
        read = None if self._begun else _TIME.match(part)
        if read is not None and (timestamp := self._nanoseconds(read)) is not None:
            self._last = timestamp
            part = part[read.end() :]
        self._begun = continues
        found.append((self._last, part, continues))

    def _nanoseconds(self, read: re.Match[bytes]) -> int | None:
        second, fraction, zone = read.groups()
        text = second + zone
        if text != self._second_text:  # as many lines have the same second
            try:
                moment = datetime.fromisoformat(text.decode().upper()).astimezone(UTC)
            except (ValueError, OverflowError):  # such as a month 13, or beyond the year 9999
                return None
            if moment < _EPOCH:  # no time of a log: a line that was cut at its begin may look like one
                return None
            self._second_text, self._second = text, int((moment - _EPOCH).total_seconds())
        return self._second * 1_000_000_000 + int(fraction.ljust(9, b"0") if fraction else 0)
