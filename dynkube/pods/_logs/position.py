"""How far a log was read, to read on after an interruption with no line lost and none twice.

A request can begin at a time only (``sinceTime``), and API servers cut that to whole seconds
(``pkg/registry/core/pod/strategy.go``). So the lines of the last seconds come again. They come in the order of the
log file, before all lines that are new, and are recognized by their timestamps, which have nanoseconds: for each
timestamp the lines are counted, as several lines may have the same one. Timestamps need not be in order, as those of
stdout and stderr are taken by two tasks of the container runtime.

Lines that the kubelet has rotated out of its log file meanwhile cannot be read by anyone. If the clock of the node is
set back by more than a second, lines until it has caught up may be missing after an interruption.

Pure: no I/O.
"""

from __future__ import annotations

from typing import Final

from dynkube.pods._logs.lines import rfc3339

_SLACK: Final = 1_000_000_000  # how far timestamps may be out of order, in nanoseconds
_MOST: Final = 20_000  # timestamps that are remembered


class Position:
    """The lines of a log that were read."""

    __slots__ = ("_again", "_low", "_provisional", "_replayed", "_seen")

    def __init__(self) -> None:
        self._low: int | None = None  # all lines before that count as read
        self._provisional = True  # whether `_low` is not the timestamp of a line, and so perhaps of another clock
        self._seen: dict[int, int] = {}  # number of lines that were read, by timestamp
        self._again: dict[int, int] = {}  # of these, the lines that have not come again
        self._replayed = True  # whether all lines that come now are new

    @property
    def since(self) -> str | None:
        """The time at which a request has to begin, in RFC 3339; ``None`` if nothing was read yet."""
        return None if self._low is None else f"{rfc3339(self._low)[:19]}Z"

    def begin_at(self, nanoseconds: int) -> None:
        """Set the time at which reading begins, unless lines were read."""
        if self._provisional:
            self._low = nanoseconds

    def replay(self) -> None:
        """Expect lines that were read already, from :attr:`since` on."""
        self._again = dict(self._seen)
        self._replayed = False

    def knows(self, timestamp: int | None) -> bool:
        """Whether a line that comes after :meth:`replay` was read already."""
        return timestamp is None or timestamp in self._seen or (self._low is not None and timestamp < self._low)

    def is_new(self, timestamp: int | None) -> bool:
        """Whether a line was not read yet, by its timestamp; from now on it counts as read.

        A line without a timestamp is the end of a line that began before :attr:`since`, and was read, if it is the
        first one.
        """
        if not self._replayed:
            if timestamp is None or (self._low is not None and timestamp < self._low):
                return False
            if left := self._again.get(timestamp, 0):
                self._again[timestamp] = left - 1
                return False
            self._replayed = True
            self._again = {}
        if timestamp is not None:
            self._note(timestamp)
        return True

    def _note(self, timestamp: int) -> None:
        seen = self._seen
        seen[timestamp] = seen.get(timestamp, 0) + 1
        if self._low is None or self._provisional:
            self._low, self._provisional = timestamp, False
        elif timestamp > self._low + 2 * _SLACK:
            self._forget_before(timestamp - _SLACK)
        elif len(seen) > _MOST:
            self._forget_before(sorted(seen)[_MOST // 2])

    def _forget_before(self, low: int) -> None:
        self._low = low
        self._seen = {timestamp: count for timestamp, count in self._seen.items() if timestamp >= low}
