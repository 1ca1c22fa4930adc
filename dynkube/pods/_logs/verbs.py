"""The methods of a pod that read logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from dynkube._nursery import OwnedNursery
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import brief
from dynkube.pods._logs.lines import LogLine
from dynkube.pods._logs.log import Log
from dynkube.pods._logs.options import LogOptions, OutputStream, Since
from dynkube.pods._logs.source import PodSource
from dynkube.pods._logs.stream import LogStream

MAX_BYTES: Final = 16 << 20
_BYTES_A_LINE: Final = 64  # counted at least for each line: those of empty lines would take far more memory than bytes
_FEW_LINES: Final = 10_000  # that are always kept


class LogVerbs:
    """The methods of a pod that read logs."""

    __slots__ = ()

    name: str
    namespace: str

    async def _source(self) -> PodSource:
        raise NotImplementedError

    def logs(
        self,
        *,
        container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        since: Since = None,
        tail: int | None = None,
        timestamps: bool = False,
        limit_bytes: int | None = None,
        stream: OutputStream | None = None,
    ) -> AbstractAsyncContextManager[LogStream]:
        """Read the log of a container, line by line.

        ::

            async with pod.logs(follow=True) as lines:
                async for line in lines:
                    print(line)             # its text; line.raw are the bytes

        With ``follow`` the iteration goes on over lost connections and restarts of the container, with each line
        once. It waits for a container that has not started, and ends when the pod is gone or has finished;
        ``lines.reason`` says why. Requires the permissions to ``get`` pods and pods/log, and with ``follow`` to
        ``watch`` pods. A line longer than 1 MiB is split; see :attr:`~dynkube.LogLine.continues`.

        Args:
            container: the container's name, also of init and ephemeral containers. By default that of the annotation
                ``kubectl.kubernetes.io/default-container``, or the only one.
            follow: go on with what the container writes from now on.
            previous: read the log of the run before the current one.
            since: begin with lines not older than so many seconds, or than a time.
            tail: begin with the last ``tail`` lines; 0 for new ones only.
            timestamps: give each line its timestamp.
            limit_bytes: end after so many bytes, newlines and requested timestamps included; the last line may be cut.
            stream: ``"Stdout"`` or ``"Stderr"`` for one of them; requires a server with the feature gate
                ``PodLogsQuerySplitStreams`` (since 1.32). Excludes ``tail``.

        Returns:
            A context manager. Entering it reads the pod and sends the first request; leaving it closes the request at
            once. A cancelled step of the iteration loses no line.

        Raises:
            InvalidInput: an argument is invalid. On entering: the pod has no such container, or several and none was
                named; the message has their names.
            NotFound: there is no such pod. This and the following are raised on entering, or while iterating.
            LogUnavailable: the container has not started, or has no previous run; not with ``follow``.
            Forbidden: a permission is missing; the message names the verb.
            ConnectionLost: without ``follow``: the connection was lost three times in a row.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = LogOptions(
            follow=follow,
            previous=previous,
            since=since,
            tail=tail,
            timestamps=timestamps,
            limit_bytes=limit_bytes,
            stream=stream,
        )
        _check_container(container)
        return open_log(self._source, container, options)

    async def read_logs(
        self,
        *,
        container: str | None = None,
        previous: bool = False,
        since: Since = None,
        tail: int | None = None,
        timestamps: bool = False,
        limit_bytes: int | None = None,
        stream: OutputStream | None = None,
    ) -> Log:
        """Read the log of a container as a whole: what it has written so far.

        At most 16 MiB and 262,144 lines are kept unless ``limit_bytes`` says otherwise; ``truncated`` of the result
        says if there are more. See :meth:`logs` for the arguments, the permissions and the exceptions.

        Args:
            container: the container's name; not needed if the pod has only one.
            previous: read the log of the run before the current one.
            since: begin with lines not older than so many seconds, or than a time.
            tail: begin with the last ``tail`` lines.
            timestamps: give each line its timestamp.
            limit_bytes: end after so many bytes; ``None`` for 16 MiB.
            stream: ``"Stdout"`` or ``"Stderr"`` for one of them.

        Returns:
            The lines.

        Raises:
            InvalidInput: an argument is invalid, the pod has no such container, or several and none was named.
            NotFound: there is no such pod.
            LogUnavailable: the container has not started, or has no previous run.
            DynkubeError: any other failure; see :meth:`logs`.
        """
        options = LogOptions(
            previous=previous,
            since=since,
            tail=tail,
            timestamps=timestamps,
            limit_bytes=MAX_BYTES if limit_bytes is None else limit_bytes,
            stream=stream,
        )
        _check_container(container)
        assert options.limit_bytes is not None
        found: list[LogLine] = []
        most = max(_FEW_LINES, options.limit_bytes // _BYTES_A_LINE)
        too_many = False
        async with open_log(self._source, container, options) as lines:
            while not too_many and (taken := await lines.take()):
                found += taken[: most - len(found)]
                too_many = len(found) == most and (len(taken) > most or not lines.ended)
        truncated = ""
        if lines.limited or too_many:
            limit = f"{options.limit_bytes:,} bytes" if lines.limited else f"{most:,} lines"
            truncated = f"only the first {limit} were read: pass tail= or since=, or a larger limit_bytes="
        name = lines.container
        return Log(lines=tuple(found), pod=self.name, namespace=self.namespace, container=name, truncated=truncated)


@asynccontextmanager
async def open_log(
    source: Callable[[], Awaitable[PodSource]], container: str | None, options: LogOptions
) -> AsyncIterator[LogStream]:
    """Open the log of a container as a context manager; on exit its request is closed."""
    stream = LogStream(await source(), container, options)
    async with OwnedNursery() as nursery:
        try:
            await stream.open()
            if options.follow:
                nursery.start_soon(stream._end_with_pod)
            yield stream
        finally:
            await stream.aclose()


def _check_container(container: object) -> None:
    if container is not None and not (isinstance(container, str) and container):
        raise InvalidInput(f"container must be the name of a container, or None, not {brief(container)}")
