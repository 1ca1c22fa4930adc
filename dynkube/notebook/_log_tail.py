"""The newest lines of a log, and what a live view shows of them.

Pure: no I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from dynkube._text.words import counted
from dynkube.pods import LogLine, LogStream, MergedLogs

_WIDEST: Final = 2000  # bytes kept of a line, which may have 1 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """What happens to a log.

    Attributes:
        title: what is read.
        word: ``LIVE``, ``waiting``, ``retrying``, ``ended``, ``failed`` or ``stopped``.
        reason: why; ``""`` while lines come.
        notes: further sentences, such as which containers could not be read.
        ended: whether there will be no more lines.
    """

    title: str = "logs"
    word: str = "waiting"
    reason: str = ""
    notes: tuple[str, ...] = ()
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPicture:
    """A snapshot of a live view.

    Attributes:
        state: what happens to the log.
        lines: the newest lines.
        count: the number of all lines that were read.
        named: whether lines of several containers are shown, so that their names are, too.
    """

    state: LogState
    lines: tuple[LogLine, ...] = ()
    count: int = 0
    named: bool = False


class LogTail:
    """The newest lines of a log.

    Args:
        most: how many are kept; of each at most 2,000 bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: deque[LogLine] = deque(maxlen=most)
        self.count: int = 0
        """The number of all lines that were added."""

    def add(self, lines: Sequence[LogLine]) -> None:
        """Add lines; the oldest ones are dropped."""
        self.count += len(lines)
        self._lines.extend(map(_cut, lines[-self._most :]))

    def picture(self, state: LogState, *, named: bool) -> LogPicture:
        """Return a snapshot."""
        return LogPicture(state=state, lines=tuple(self._lines), count=self.count, named=named)


def state_of(source: LogStream | MergedLogs) -> LogState:
    """Return the state of a log that is being read."""
    return _state_of_one(source) if isinstance(source, LogStream) else _state_of_many(source)


def _state_of_one(source: LogStream) -> LogState:
    title = f"log of {source.namespace}/{source.pod} · {source.container}"
    missed = counted(source.missed_runs, "run of the container has", "runs of the container have")
    notes = (f"{missed} ended before the log could be read",) if source.missed_runs else ()
    if source.last_error is not None:
        return LogState(title=title, word="retrying", reason=str(source.last_error), notes=notes)
    word = "waiting" if source.reason else "LIVE"
    return LogState(title=title, word=word, reason=source.reason, notes=notes)


def _state_of_many(source: MergedLogs) -> LogState:
    containers = source.containers
    reading = sum(each.state == "reading" for each in containers)
    silent = [each for each in containers if each.state == "failed" or (each.state == "waiting" and each.reason)]
    notes = [f"{each.namespace}/{each.pod} {each.container} is not read: {each.reason}" for each in silent[-_FEW:]]
    if source.waiting:
        notes.append(f"{counted(source.waiting, 'container')} will be read when another one has ended: see max_streams")
    reason = "" if containers else "no container of such a pod has started"
    return LogState(
        title=f"logs of {counted(len(containers), 'container')}",
        word="LIVE" if reading else "waiting",
        reason=reason,
        notes=tuple(notes),
    )


_FEW: Final = 3  # containers that are named as not read


def _cut(line: LogLine) -> LogLine:
    return line if len(line.raw) <= _WIDEST else msgspec.structs.replace(line, raw=line.raw[:_WIDEST], continues=True)
