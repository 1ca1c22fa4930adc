"""``LogStream``: the log of one container, over reconnects and restarts.

``steps.py`` decides which request is next, and ``position.py`` which lines are new; here is the I/O around them.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Never, Self

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube._text.tables import printable
from dynkube.errors import (
    APIError,
    BadRequest,
    ClosedError,
    DeadlineExceeded,
    Forbidden,
    LogUnavailable,
    NotFound,
    ProtocolError,
    ServerError,
    TooManyRequests,
    TransportError,
    Unauthorized,
)
from dynkube.errors._evidence import CONFIRMATION, NegativeAnswers, extended
from dynkube.meta import Unstructured
from dynkube.pods._logs.lines import LineReader, LogLine
from dynkube.pods._logs.options import LogOptions
from dynkube.pods._logs.position import Position
from dynkube.pods._logs.sight import container_of, look
from dynkube.pods._logs.source import SILENCE, PodSource
from dynkube.pods._logs.steps import Outcome, Progress, Read, Step, Wait, after, next_step, next_step_once
from dynkube.rest._answers import is_json
from dynkube.rest._backoff import Backoff
from dynkube.rest._stream import ByteStream

_log = get_logger("dynkube.pods")

FAREWELL: Final = 5.0
"""Seconds of silence after which the log of a deleted pod ends."""

_LOOK_AT_POD: Final = 30.0  # seconds without a line after which it is asked whether there still is a pod
_STALLED: Final = 60.0  # of a log that is not followed
_LOOK_AGAIN: Final = 300.0  # seconds: a container that is waited for may have another reason by then
_MOST_DELAY: Final = (
    8.0  # seconds, twice that with jitter: a container that crashes all the time takes 20 s for two runs
)
_MOST_CUTS: Final = 3  # in a row, without a new line between, of a log that is not followed
_NANOSECONDS: Final = 1_000_000_000


class LogStream(Bound, AsyncIterator[LogLine]):
    """The log of one container: ``async for line in lines``.

    Created by :meth:`Pod.logs`. It has no background task: it reads from the server only while the consumer waits for
    the next line, so a slow consumer slows the server down instead of filling memory. A cancelled step loses no line.
    Not for use by several tasks at once.

    Attributes:
        pod: the pod's name.
        namespace: the pod's namespace.
        reason: what the container waits for, or why there will be no more lines; ``""`` while its log is read.
        last_error: the last error that was retried; ``None`` again once lines arrive.
        requests: the number of requests for logs so far.
        limited: whether ``limit_bytes`` was reached.
        missed_runs: the number of runs of the container whose logs could not be read: a kubelet keeps the log of the
            current run and of the one before.
    """

    def __init__(
        self,
        source: PodSource,
        container: str | None,
        options: LogOptions,
        *,
        allowed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._source = source
        self._allowed = allowed  # whether other logs were read, so that a denial may be one of a moment
        self._container = container
        self._options = options
        self._backoff = Backoff(cap=_MOST_DELAY, random=source.random)
        self._position = Position()
        self._progress = Progress()
        self._ready: deque[LogLine] = deque()
        self._partial: list[tuple[int | None, bytes, bool]] = []  # a last line whose newline may still come
        self._left = options.limit_bytes
        self._step: Read | None = None  # that of the open request
        self._manager: AbstractAsyncContextManager[ByteStream] | None = None
        self._response: ByteStream | None = None
        self._reader = LineReader()
        self._answered = False  # whether any request got a log
        self._unchecked = False  # whether the first line of the open request decides if it is the right log
        self._run_has_lines = False  # whether a line of the current run was read
        self._fruitful = False  # whether the open request had new lines
        self._cuts = 0
        self._denials: NegativeAnswers | None = None
        self._not_before = 0.0
        self._receiving: trio.CancelScope | None = None  # the wait for the next lines
        self._heard = 0.0  # when that began
        self._idle = SILENCE if options.follow else _STALLED
        self._closed = False
        self._ended = False
        self.pod: str = source.name
        self.namespace: str = source.namespace
        self.reason: str = ""
        self.last_error: Exception | None = None
        self.requests: int = 0
        self.missed_runs: int = 0
        self.limited: bool = False

    @property
    def container(self) -> str:
        """The container's name."""
        return self._container or ""

    @property
    def ended(self) -> bool:
        """Whether the log was read to its end, and there will be no more lines; :attr:`reason` says why."""
        return self._ended

    @property
    def pending(self) -> int:
        """The number of lines received but not yet consumed."""
        return len(self._ready)

    async def open(self) -> None:
        """Read the pod, and send the first request; raises any error, including connection failures."""
        pod = await self._source.find()
        self._container = container_of(pod, self._container)
        if not self._options.follow:
            await self._request(pod, next_step_once(self._progress, previous=self._options.previous))
        elif isinstance(step := next_step(self._progress, look(pod, self._container)), Read):
            await self._request(pod, step)
        else:
            self._wait_for(step.reason)  # in the first step of the iteration

    async def aclose(self) -> None:
        """Close the open request. Not interrupted by cancellation."""
        self._closed = True
        await self._disconnect()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LogLine:
        await self._fill()
        if not self._ready:
            raise StopAsyncIteration
        return self._ready.popleft()

    async def take(self) -> list[LogLine]:
        """Return the next line and all others that arrived with it, in one step; an empty list at the end."""
        await self._fill()
        lines = list(self._ready)
        self._ready.clear()
        return lines

    async def _fill(self) -> None:
        if self._closed:
            raise ClosedError("the log is closed, as it is after its 'async with' block: open another one")
        while not self._ready and not self._ended:
            await trio.sleep_until(self._not_before)
            try:
                await (self._decide() if self._response is None else self._receive(self._response))
            except (APIError, TransportError) as exc:
                await self._over(Outcome.FAILED if self._response is None else Outcome.CUT)
                self._recover(exc)
            except BaseException:  # cancelled, or no credential: what was read counts, and the rest comes again
                await self._over(Outcome.FAILED if self._response is None else Outcome.CUT)
                raise
        await trio.lowlevel.checkpoint()

    # ── steps ────────────────────────────────────────────────────────────────────────────────

    async def _decide(self) -> None:
        if not self._options.follow:
            await self._request(None, next_step_once(self._progress, previous=self._options.previous))
            return
        pod = await self._source.read()
        sight = None if pod is None else look(pod, self.container)
        step = next_step(self._progress, sight)
        if isinstance(step, Wait) and pod is not None:
            self._wait_for(step.reason)
            now = trio.current_time()
            with trio.move_on_after(_LOOK_AGAIN if step.status_known else self._backoff.next(now)):
                await self._source.wait_changed(pod)
            self._progress = after(self._progress, step, Outcome.COMPLETE)
        else:
            await self._request(pod, step)

    async def _request(self, pod: Unstructured | None, step: Step) -> None:
        if not isinstance(step, Read):
            self._end(step.reason)
            return
        since = self._begin(step)
        params = self._options.params(self.container, step, since)
        self.requests += 1
        self._reader = LineReader()
        self._partial = []
        self._unchecked = step.checked and self._run_has_lines
        self._fruitful = False
        manager = self._source.request_log(params, follow=step.follow)
        try:
            response = await manager.__aenter__()
        except BadRequest as exc:
            self._no_log(pod, step, exc)
            return
        if response.status == 204:  # the pod has no node
            await manager.__aexit__(None, None, None)
            self._no_log(pod, step, None)
            return
        if is_json(response.headers):  # the API server sends logs as text/plain, whatever their lines are
            await manager.__aexit__(None, None, None)
            raise ProtocolError(f"{response.request}: the response is JSON instead of a log, probably of a proxy")
        self._step, self._manager, self._response = step, manager, response
        self._denials = None
        self._answered_at(response.headers.get("date", ""))
        self.reason = ""
        self._source.note_state("reading")

    def _wait_for(self, reason: str) -> None:
        self.reason = reason
        self._source.note_state("waiting", reason)

    def _begin(self, step: Read) -> str | None:
        """Set the position to the begin of the log that is requested; return the time to request, if not the user's."""
        position = self._position
        if self._answered:
            if step.changed and not step.previous:
                run = self._progress.run
                self.missed_runs += 0 if run is None else max(0, step.run - run - 2)
                self._run_has_lines = False
            position.replay()
            return position.since
        if isinstance(self._options.since, datetime):  # which the server cuts to seconds
            position.begin_at(_nanoseconds(self._options.since))
            position.replay()
        return None

    def _answered_at(self, date: str) -> None:
        """Remember when the first response began: that is where to read on if no line comes before it is cut."""
        if self._answered:
            return
        self._answered = True
        since = self._options.since
        if isinstance(since, datetime) or (since is None and self._options.tail is None):
            return
        try:
            moment = parsedate_to_datetime(date)
        except ValueError:  # without a date, the next request begins like the first one unless lines were read
            return
        back = 0 if since is None else int(since * _NANOSECONDS)
        self._position.begin_at(_nanoseconds(moment.replace(tzinfo=moment.tzinfo or UTC)) - back)

    def _no_log(self, pod: Unstructured | None, step: Read, error: BadRequest | None) -> None:
        """Handle the response that there is no log: raise it, or wait for one."""
        if not self._options.follow:
            reason = "the pod has no node" if pod is None else look(pod, self.container).reason
            why = reason if error is None else str(error)
            where = f"container {self.container} of pod {self.namespace}/{self.pod}"
            hint = "" if step.previous else "; follow=True waits for it"
            raise LogUnavailable(f"{where} has no log: {why}{hint}") from error
        self._progress = after(self._progress, step, Outcome.NO_LOG)
        if not step.previous and error is not None:
            self._wait_for(error.status.message)

    def _end(self, reason: str) -> None:
        self._ended = True
        self.reason = reason
        partial, self._partial = self._partial, []
        self._accept(partial)

    # ── lines ────────────────────────────────────────────────────────────────────────────────

    async def _receive(self, response: ByteStream) -> None:
        chunk: bytes | None = None
        ended = False
        with trio.CancelScope(deadline=trio.current_time() + self._idle) as scope:
            response.reader = self._receiving = scope
            self._heard = trio.current_time()
            try:
                chunk = await anext(response)
            except StopAsyncIteration:
                ended = True
            finally:
                self._receiving = None
        if chunk is not None:
            await self._read(self._reader.feed(chunk))
        elif ended:
            await self._complete()
        else:
            response.check_trusted()
            if self._options.follow:
                await self._over(Outcome.CUT)
                return
            raise DeadlineExceeded(f"{response.request}: no line for {self._idle:g} s")

    async def _end_with_pod(self) -> Never:
        """End a wait for lines some seconds after the pod is gone, whose last lines may be on their way.

        For a followed log of which nobody sees the deletion of its pod; runs beside the iteration, until cancelled. A
        kubelet should end the log of a pod that is deleted; what only plays one (KWOK) or is cut off does not.
        """
        while True:
            if (due := self._heard + _LOOK_AT_POD) > trio.current_time():
                await trio.sleep_until(due)
                continue
            scope = self._receiving
            if scope is not None and await self._source.is_gone():
                scope.deadline = min(scope.deadline, trio.current_time() + FAREWELL)
            await trio.sleep(_LOOK_AT_POD)

    async def _read(self, found: list[tuple[int | None, bytes, bool]]) -> None:
        if not found:
            return
        if self._unchecked:
            self._unchecked = False
            if not self._position.knows(found[0][0]):
                await self._over(Outcome.OTHER_RUN)
                return
        self._accept(found)

    async def _complete(self) -> None:
        assert self._step is not None
        rest = self._reader.finish()
        if self._unchecked and not rest:  # not even the last line that was read
            await self._over(Outcome.OTHER_RUN)
            return
        if self._step.final:
            await self._read(rest)
        else:
            self._partial = rest
        if self._response is not None:
            await self._over(Outcome.COMPLETE)

    def _accept(self, found: list[tuple[int | None, bytes, bool]]) -> None:
        is_new, with_time = self._position.is_new, self._options.timestamps
        before = len(self._ready)
        for timestamp, raw, continues in found:
            if not is_new(timestamp):
                continue
            if self._left == 0:
                self._reach_limit()
                break
            self._ready.append(
                LogLine(
                    raw=raw if self._left is None else self._within_limit(raw, self._left),
                    pod=self.pod,
                    namespace=self.namespace,
                    container=self.container,
                    timestamp_ns=timestamp if with_time else None,
                    continues=continues,
                )
            )
            if self._left == 0 and (self.limited or self._options.follow):
                self._reach_limit()
                break
        if len(self._ready) > before:
            self._fruitful = True
            self._run_has_lines = self._run_has_lines or (self._step is not None and not self._step.previous)
            self._cuts = 0
            self.last_error = None

    def _within_limit(self, raw: bytes, left: int) -> bytes:
        over = self._options.size(raw) - left
        self._left = max(0, -over)
        if over <= 1:  # the newline counts, and is not part of the line
            return raw
        self.limited = True
        return raw[: max(0, len(raw) - over + 1)]

    def _reach_limit(self) -> None:
        self._ended = self.limited = True
        self.reason = "limit_bytes was reached"

    # ── ends of requests ─────────────────────────────────────────────────────────────────────

    async def _over(self, outcome: Outcome) -> None:
        """Close the open request, if there is one, and record how it has ended."""
        step, self._step = self._step, None
        await self._disconnect()
        if step is None:
            return
        self._progress = after(self._progress, step, outcome)
        now = trio.current_time()
        if self._fruitful:
            self._backoff.reset()
        elif outcome is Outcome.COMPLETE and step.follow:  # it ended at once: the status of the pod is behind
            self._not_before = now + self._backoff.next(now)

    async def _disconnect(self) -> None:
        manager, self._manager, self._response = self._manager, None, None
        if manager is not None:
            await manager.__aexit__(None, None, None)

    def _recover(self, exc: APIError | TransportError) -> None:
        """Handle an error: raise it, or schedule a retry."""
        if not self._options.follow:
            self._cuts += 1
            if isinstance(exc, APIError) or self._cuts > _MOST_CUTS or not self._answered:
                raise exc
        elif isinstance(exc, APIError) and not self._may_pass(exc):
            raise exc
        level = logging.INFO if self.last_error is None else logging.DEBUG  # one record per outage
        self.last_error = exc
        now = trio.current_time()
        quiet, self._fruitful = isinstance(exc, TransportError) and self._fruitful, False
        delay = self._backoff.next(now, asked=exc.retry_after if isinstance(exc, APIError) else None)
        self._not_before = now if quiet else now + delay
        if not quiet:
            self._source.note_state("waiting", f"{exc}; it is requested again")
        _log.log(level, "log of %s/%s: reading on in %.1f s: %s", self.pod, self.container, delay, exc)

    def _may_pass(self, exc: APIError) -> bool:
        """Whether a request that got this error response is worth repeating.

        After any log was read, a denial counts once it is confirmed: an API server that is starting denies everything.
        """
        if isinstance(exc, TooManyRequests | ServerError | NotFound):
            self._denials = None
            return True
        if not (self._answered or self._allowed()) or not isinstance(exc, Forbidden | Unauthorized):
            return False
        self._denials = extended(self._denials, trio.current_time(), str(exc))
        return self._denials.span < CONFIRMATION.starting

    def __repr__(self) -> str:
        return printable(f"<LogStream {self.namespace}/{self.pod} {self.container}: {self.reason or 'open'}>")


def _nanoseconds(moment: datetime) -> int:
    whole = moment.replace(microsecond=0)
    return int(whole.timestamp()) * _NANOSECONDS + moment.microsecond * 1000
