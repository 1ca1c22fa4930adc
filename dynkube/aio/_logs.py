"""Logs of pods, for asyncio."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from dynkube import pods
from dynkube._portal.facade import wrapping
from dynkube._portal.logs import LogSource, MergedLogSource
from dynkube._portal.pods import PodFacade
from dynkube.aio._delegation import awaiting, for_asyncio
from dynkube.aio._held import Held
from dynkube.aio._streams import OpenedStream


class LogStream(LogSource, OpenedStream[pods.LogLine, pods.LogStream]):
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


class MergedLogs(MergedLogSource, OpenedStream[pods.LogLine, pods.MergedLogs]):
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
