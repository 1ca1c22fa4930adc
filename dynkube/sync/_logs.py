"""Logs of pods, blocking."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from dynkube import pods
from dynkube._portal.facade import wrapping
from dynkube._portal.logs import LogSource, MergedLogSource
from dynkube._portal.pods import PodFacade
from dynkube.sync._delegation import blocking
from dynkube.sync._held import Held
from dynkube.sync._streams import OpenedStream


class LogStream(LogSource, OpenedStream[pods.LogLine, pods.LogStream]):
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


class MergedLogs(MergedLogSource, OpenedStream[pods.LogLine, pods.MergedLogs]):
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
