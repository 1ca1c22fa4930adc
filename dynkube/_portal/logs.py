"""Sources of lines of logs, of one container and of many."""

from __future__ import annotations

from typing import ClassVar, Final

from dynkube import pods
from dynkube._portal.held import Held
from dynkube._portal.streams import Source
from dynkube._text.words import counted
from dynkube.errors import ClosedError

LIVE_LINES: Final = 1000
"""How many lines a live view keeps by default."""


class LogSource(Source[pods.LogLine]):
    """The lines of one container's log."""

    _held: Held[pods.LogStream]
    _inner: pods.LogStream | None = None
    _how_to_open: ClassVar[str]

    @property
    def pod(self) -> str:
        """The pod's name; ``""`` before the log is open, like the next two."""
        return self._inner.pod if self._inner is not None else ""

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self._inner.namespace if self._inner is not None else ""

    @property
    def container(self) -> str:
        """The container's name."""
        return self._inner.container if self._inner is not None else ""

    @property
    def reason(self) -> str:
        """What the container waits for, or why there will be no more lines; ``""`` while its log is read."""
        return self._inner.reason if self._inner is not None else ""

    @property
    def ended(self) -> bool:
        """Whether the log was read to its end; lines that have arrived may not have been returned yet."""
        return self._inner is not None and self._inner.ended

    @property
    def limited(self) -> bool:
        """Whether ``limit_bytes`` was reached."""
        return self._inner is not None and self._inner.limited

    @property
    def missed_runs(self) -> int:
        """The number of runs of the container whose logs could not be read."""
        return self._inner.missed_runs if self._inner is not None else 0

    @property
    def requests(self) -> int:
        """The number of requests for logs so far."""
        return self._inner.requests if self._inner is not None else 0

    @property
    def pending(self) -> int:
        """The number of lines received and not returned yet."""
        return len(self._buffer) + (self._inner.pending if self._inner is not None else 0)

    @property
    def last_error(self) -> Exception | None:
        """The last error that was retried; ``None`` again once lines arrive."""
        return self._inner.last_error if self._inner is not None else None

    def __repr__(self) -> str:
        return repr(self._inner) if self._inner is not None else _not_open(self)

    async def _take(self) -> list[pods.LogLine]:
        if self._inner is None:
            raise ClosedError(f"the log is not open: use it inside {self._how_to_open!r}")
        return await self._held.use(self._inner.take)


class MergedLogSource(Source[pods.LogLine]):
    """The lines of many containers."""

    _held: Held[pods.MergedLogs]
    _inner: pods.MergedLogs | None = None
    _how_to_open: ClassVar[str]

    @property
    def containers(self) -> tuple[pods.ContainerLog, ...]:
        """All containers that were seen, with the state of each and the reason for it."""
        return self._inner.containers if self._inner is not None else ()

    @property
    def waiting(self) -> int:
        """The number of containers that wait because ``max_streams`` are open."""
        return self._inner.waiting if self._inner is not None else 0

    def __repr__(self) -> str:
        if self._inner is None:
            return _not_open(self)
        return f"<MergedLogs of {counted(len(self.containers), 'container')}>"

    @property
    def pending(self) -> int:
        """The number of lines received and not returned yet."""
        return len(self._buffer) + (self._inner.pending if self._inner is not None else 0)

    async def _take(self) -> list[pods.LogLine]:
        if self._inner is None:
            raise ClosedError(f"the logs are not open: use them inside {self._how_to_open!r}")
        return await self._held.use(self._inner.take)


def _not_open(source: LogSource | MergedLogSource) -> str:
    name = type(source).__name__
    return f"<{name}, not open: use it as in {source._how_to_open!r}, or display live() of it in a notebook>"
