"""Logs of pods, blocking."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from dynkube import pods
from dynkube._portal.facade import wrapping
from dynkube._portal.logs import LIVE_LINES, LogSource, MergedLogSource
from dynkube._portal.pods import PodFacade
from dynkube.notebook import LiveLog
from dynkube.notebook._live_log import check_lines, live_log
from dynkube.sync._delegation import blocking
from dynkube.sync._held import Held
from dynkube.sync._streams import OpenedStream

I = TypeVar("I", pods.LogStream, pods.MergedLogs)  # noqa: E741  # the inner, async object


class _Log(OpenedStream[pods.LogLine, I]):
    """Lines of logs, which a notebook can display."""

    def live(self, lines: int = LIVE_LINES) -> LiveLog:
        """Return a notebook output with the newest lines, which is replaced as lines come.

        ::

            k.logs("app=web").live()

        Opens the logs, waits up to 0.5 s for the first lines, and does not enter this object: there is no ``with``
        block. Requests are closed when the logs end, with :meth:`LiveLog.close() <dynkube.notebook.LiveLog.close>`,
        with the client, when the cell is run again, and one minute after this call if no page shows the output.

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
        return live_log(opening, self._thread, start, lines=lines)


class LogStream(LogSource, _Log[pods.LogStream]):
    """The log of one container; created by :meth:`Pod.logs`.

    Enter it (``with``), then iterate.

    ::

        with pod.logs(follow=True) as lines:
            for line in lines:
                print(line)

    Lost connections and restarts of the container lose no line. Ctrl-C during a step leaves the iterator usable.
    """

    _held: Held[pods.LogStream]
    _how_to_open = "with pod.logs(...) as lines:"


class MergedLogs(MergedLogSource, _Log[pods.MergedLogs]):
    """The logs of many pods; created by :meth:`Client.logs`.

    Enter it (``with``), then iterate. Ctrl-C during a step leaves the iterator usable.
    """

    _held: Held[pods.MergedLogs]
    _how_to_open = "with client.logs(...) as lines:"


class LogMethods(PodFacade):
    """The methods of a pod that read logs."""

    __slots__ = ()

    @wrapping(pods.Pod.logs)
    def logs(self, inner: AbstractAsyncContextManager[pods.LogStream]) -> LogStream:
        return LogStream(self._thread, self._start, inner)

    @blocking(pods.Pod.read_logs)
    def read_logs(self) -> None: ...
