"""Logs of containers: what was written, and the part of it that a request selects.

The semantics are those of a kubelet with containerd: ``tailLines`` counts lines of the log, before ``sinceTime`` leaves
some out; ``limitBytes`` includes the timestamps; a log that is followed ends with the container.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import trio

from dynkube_testing._calls import query, refuse
from dynkube_testing._calls.api import Call
from dynkube_testing._calls.causes import bad_value, not_allowed

MAX_BYTES: Final = 10 << 20  # of one run of a container; older lines are dropped, as a kubelet rotates logs of 10 MiB
MAX_LINES: Final = 100_000
_AT_ONCE: Final = 1 << 16  # bytes of a log in one chunk of a response
_LINE_END: Final = re.compile(rb"(?<=\n)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """The parameters of a request for a log (PodLogOptions).

    Attributes:
        container: The container; ``""`` for the only one.
        follow: Whether to send what is written later, too.
        previous: Whether the log of the run before the current one is requested.
        timestamps: Whether each line begins with the time when it was written.
        tail: The number of lines from the end; ``None`` for all.
        limit: The number of bytes after which the response ends; ``None`` for no limit.
        since: The time before which lines are left out; ``None`` for none.
    """

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    limit: int | None = None
    since: datetime | None = None

    @classmethod
    def read(cls, call: Call, now: datetime) -> LogOptions:
        """Read the parameters of ``call``.

        Raises:
            BadRequest: A parameter cannot be parsed.
            Invalid: Parameters are out of range, or exclude each other. All such causes are in the error.
        """
        params = call.params
        tail, limit = query.integer(params, "tailLines"), query.integer(params, "limitBytes")
        seconds, since = query.integer(params, "sinceSeconds"), query.time(params, "sinceTime")
        causes = []
        if tail is not None and tail < 0:
            causes.append(bad_value("tailLines", tail, "must be greater than or equal to 0"))
        if limit is not None and limit < 1:
            causes.append(bad_value("limitBytes", limit, "must be greater than 0"))
        if seconds is not None and since is not None:
            both = "at most one of `sinceTime` or `sinceSeconds` may be specified"
            causes.append(not_allowed("[]", both))
        elif seconds is not None and seconds < 1:
            causes.append(bad_value("sinceSeconds", seconds, "must be greater than 0"))
        if "stream" in params:  # behind the feature gate PodLogsQuerySplitStreams, which is off by default
            causes.append(not_allowed("stream", "may not be specified"))
        if causes:
            raise refuse.invalid_object("", "PodLogOptions", call.name, causes)
        return cls(
            container=params.get("container", ""),
            follow=query.boolean(params, "follow") or False,
            previous=query.boolean(params, "previous") or False,
            timestamps=query.boolean(params, "timestamps") or False,
            tail=tail,
            limit=limit,
            # kube-apiserver passes sinceTime on to the kubelet in whole seconds (LogLocation in pod/strategy.go).
            since=_before(now, seconds) if seconds is not None else since and since.replace(microsecond=0),
        )


def _before(now: datetime, seconds: int) -> datetime | None:
    """Return the time ``seconds`` before ``now``; ``None`` if that is before all times."""
    try:
        return now - timedelta(seconds=seconds)
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of a log, or a part of one that was written in several parts.

    Attributes:
        time: When it was written.
        data: The bytes, with the newline if it ends the line.
        begins: Whether a line begins with it.
    """

    time: datetime
    data: bytes
    begins: bool


class Log:
    """What one run of a container has written, up to :data:`MAX_BYTES` and :data:`MAX_LINES`."""

    def __init__(self) -> None:
        self.ended: bool = False
        self._pieces: list[Piece] = []
        self._first = 0  # number of the first piece, counted from the first one that was ever written
        self._size = 0
        self._line_open = False
        self._changed = trio.Event()

    def write(self, data: bytes, time: datetime) -> None:
        """Append ``data``."""
        for line in filter(None, _LINE_END.split(data)):
            self._pieces.append(Piece(time, line, begins=not self._line_open))
            self._line_open = not line.endswith(b"\n")
        self._size += len(data)
        if self._size > MAX_BYTES * 5 // 4 or len(self._pieces) > MAX_LINES * 5 // 4:
            self._rotate()  # rare, as up to a quarter more is kept
        self._wake()

    def end(self) -> None:
        """End the log: nothing will be written any more."""
        self.ended = True
        self._wake()

    def since(self, number: int) -> tuple[list[Piece], int]:
        """Return the pieces from ``number`` on, and the number of the next one that will be written."""
        return self._pieces[max(0, number - self._first) :], self._first + len(self._pieces)

    def number_of_tail(self, lines: int | None) -> int:
        """Return the number of the piece with which the last ``lines`` lines begin; ``None`` is for all lines."""
        if lines is None:
            return self._first
        index = len(self._pieces)
        while lines > 0 and index > 0:
            index -= 1
            lines -= self._pieces[index].begins
        return self._first + index

    async def wait_changed(self) -> None:
        """Wait until something is written, or the log ends."""
        await self._changed.wait()

    def _rotate(self) -> None:
        dropped = 0
        while self._size > MAX_BYTES or len(self._pieces) - dropped > MAX_LINES:
            self._size -= len(self._pieces[dropped].data)
            dropped += 1
        del self._pieces[:dropped]
        self._first += dropped

    def _wake(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()


class LogStream:
    """The part of a log that one request selects. Call :meth:`receive` until it returns ``b""``."""

    def __init__(self, log: Log, options: LogOptions) -> None:
        self._log = log
        self._options = options
        self._next = log.number_of_tail(options.tail)
        self._left = options.limit
        self._chunks: Iterator[bytes] = iter(())

    async def receive(self) -> bytes:
        """Return the next bytes; ``b""`` at the end. If the log is followed, wait for more."""
        while True:
            if self._left == 0:
                chunk = b""
            elif not (chunk := next(self._chunks, b"")):
                pieces, self._next = self._log.since(self._next)
                self._chunks = self._rendered(pieces)
                chunk = next(self._chunks, b"")
            if chunk or self._left == 0 or self._log.ended or not self._options.follow:
                await trio.lowlevel.checkpoint()
                return self._limited(chunk)
            await self._log.wait_changed()

    def _rendered(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        since, parts, size = self._options.since, list[bytes](), 0
        for piece in pieces:
            if since is not None and piece.time < since:
                continue
            prefix = _timestamp(piece.time) if self._options.timestamps and piece.begins else b""
            parts.append(prefix + piece.data)
            size += len(parts[-1])
            if size >= _AT_ONCE:
                yield b"".join(parts)
                parts, size = [], 0
        if parts:
            yield b"".join(parts)

    def _limited(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        data = data[: self._left]
        self._left -= len(data)
        return data


def _timestamp(time: datetime) -> bytes:
    """Format a time like a kubelet: UTC, with nanoseconds, and a space."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z ").encode()
