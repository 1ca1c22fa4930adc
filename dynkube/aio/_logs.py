"""Logs of pods, for asyncio."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from dynkube import pods
from dynkube._portal.facade import wrapping
from dynkube._portal.logs import LIVE_LINES, LogSource, MergedLogSource
from dynkube._portal.pods import PodFacade
from dynkube.aio._call import in_trio
from dynkube.aio._delegation import awaiting, for_asyncio
from dynkube.aio._held import Held
from dynkube.aio._streams import OpenedStream
from dynkube.notebook import LiveLog
from dynkube.notebook._live_log import NewLog, check_lines

I = TypeVar("I", pods.LogStream, pods.MergedLogs)  # noqa: E741  # the inner, async object


class _Log(OpenedStream[pods.LogLine, I]):
    """Lines of logs, which a notebook can display."""

    async def live(self, lines: int = LIVE_LINES) -> LiveLog:
        """Return a notebook output with the newest lines, which is replaced as lines come.

        ::

            await client.logs("app=web").live()

        Opens the logs, waits up to 0.5 s for the first lines, and does not enter this object: there is no
        ``async with`` block. Requests are closed when the logs end, with
        :meth:`LiveLog.close() <dynkube.notebook.LiveLog.close>`, with the client, when the cell is run again, and one
        minute after this call if no page shows the output.

        Args:
            lines: how many of the newest lines are kept, at most 10,000. Earlier ones are dropped, and counted.

        Raises:
            InvalidInput: ``lines`` is invalid.
            ClosedError: the client is closed, or this object was entered or displayed before.
            DynkubeError: the logs could not be opened; see ``logs(...)``.
        """
        __tracebackhide__ = True
        check_lines(lines)
        opening, start = self._held.detach()
        new = NewLog(opening, self._thread, start, lines=lines)
        try:
            await in_trio(self._thread, new.open)
            return new.shown()
        except BaseException:  # cancelled, too: the view is never returned
            new.abandon()
            raise


class LogStream(LogSource, _Log[pods.LogStream]):
    """The log of one container; created by :meth:`Pod.logs`.

    ::

        async with pod.logs(follow=True) as lines:
            async for line in lines:
                print(line)

    Lost connections and restarts of the container lose no line. A step that is cancelled, by ``asyncio.timeout`` for
    example, leaves the iterator usable.
    """

    _held: Held[pods.LogStream]
    _how_to_open = "async with pod.logs(...) as lines:"


class MergedLogs(MergedLogSource, _Log[pods.MergedLogs]):
    """The logs of many pods; created by :meth:`Client.logs`.

    A step that is cancelled, by ``asyncio.timeout`` for example, leaves the iterator usable.
    """

    _held: Held[pods.MergedLogs]
    _how_to_open = "async with client.logs(...) as lines:"


class LogMethods(PodFacade):
    """The methods of a pod that read logs."""

    __slots__ = ()

    @wrapping(pods.Pod.logs, for_asyncio)
    def logs(self, inner: AbstractAsyncContextManager[pods.LogStream]) -> LogStream:
        return LogStream(self._thread, self._start, inner)

    @awaiting(pods.Pod.read_logs)
    def read_logs(self) -> None: ...
