"""The sources of a running controller: their streams, and the keys that wait to be added to the queue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import trio

from dynkube._guard import finish, logged, text_of
from dynkube._logs import get_logger
from dynkube.controllers._rate_limits import ExponentialBackoff
from dynkube.controllers._source import Source, SourceKey
from dynkube.controllers._status import SourceStatus
from dynkube.controllers._watches import ObjectKey
from dynkube.errors import InvalidInput
from dynkube.informers._slices import Slices

_INITIAL: Final = 1.0  # seconds until a stream that has failed or ended is opened again
_CAP: Final = 60.0
_SETTLED: Final = 60.0  # seconds after which an open stream is taken to work

_log: Final = get_logger("dynkube.controllers")


class AddKey(Protocol):
    """Adds a key to the queue of a controller in one cluster."""

    def __call__(self, key: ObjectKey, priority: int, after: float) -> None: ...


@dataclass(slots=True)
class _Counts:
    """What a source has done in this run; changed in the thread of its stream."""

    open: bool = False
    keys: int = 0
    failures: int = 0
    last_error: str = ""


class SourceFeed:
    """Takes the keys of the sources of one controller while it runs.

    Keys arrive on any thread, and wait here, each once, until the event loop adds them to the queue: so a source that
    is faster than the event loop is bounded by the number of its distinct keys.

    Args:
        controller: the name of the controller.
        sources: its sources.
        adds: how to add a key in each cluster, by the name of the cluster.
        slices: limits how long the event loop is held.
    """

    def __init__(self, controller: str, sources: Iterable[Source], adds: Mapping[str, AddKey], slices: Slices) -> None:
        self._controller = controller
        self._counts = {source: _Counts() for source in sources}
        self._adds = adds
        self._slices = slices
        self._clock = trio.lowlevel.current_clock()
        self._token = trio.lowlevel.current_trio_token()
        self._lock = threading.Lock()
        self._taking = False  # whether the controller reconciles
        self._waiting: dict[tuple[str, ObjectKey], tuple[int, float]] = {}  # priority and time
        self._arrived = trio.Event()
        self._scope = trio.CancelScope()

    # ── on any thread ────────────────────────────────────────────────────────────────────────

    def put(self, given: SourceKey, priority: int) -> bool:
        """Have a key reconciled; return ``False`` if the controller does not reconcile now.

        Args:
            given: the key.
            priority: used unless the key has one.

        Raises:
            InvalidInput: the controller does not run on such a cluster.
        """
        place = self._cluster_of(given), ObjectKey.of(given.key)
        wanted = priority if given.priority is None else given.priority
        at = self._clock.current_time() + given.after
        with self._lock:
            if not self._taking:
                return False
            before = self._waiting.get(place)
            self._waiting[place] = (wanted, at) if before is None else (max(wanted, before[0]), min(at, before[1]))
            first = len(self._waiting) == 1
        if first:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._wake, idempotent=True)
        return True

    def statuses(self) -> tuple[SourceStatus, ...]:
        """Return the status of each source."""
        return tuple(
            SourceStatus(source.name, counts.open, counts.keys, counts.failures, counts.last_error)
            for source, counts in self._counts.items()
        )

    def _cluster_of(self, given: SourceKey) -> str:
        if given.cluster in self._adds:
            return given.cluster
        if not given.cluster and len(self._adds) == 1:
            return next(iter(self._adds))
        names = ", ".join(name for name in self._adds if name) or "one without a name"
        if given.cluster:
            raise InvalidInput(
                f"controller {self._controller} does not run on the cluster {given.cluster!r} (its clusters: {names}): "
                "pass the name that it has in run({name: client})"
            )
        raise InvalidInput(
            f"controller {self._controller} runs on several clusters ({names}), and {ObjectKey.of(given.key)} does not "
            "say in which it is: pass cluster="
        )

    def _take(self, source: Source, given: object) -> None:
        """Take a key of a stream."""
        counts = self._counts[source]
        try:
            key = given if isinstance(given, SourceKey) else SourceKey(given)  # type: ignore[arg-type]  # it checks
            self.put(key, source.priority)
        except InvalidInput as exc:
            self._failed(source, exc)
        else:
            counts.keys += 1

    def _failed(self, source: Source, exc: Exception) -> None:
        counts = self._counts[source]
        counts.failures += 1
        counts.last_error = text_of(exc)
        # Logged the 1st, 2nd, 4th, 8th, ... time.
        level = logging.DEBUG if counts.failures & (counts.failures - 1) else logging.ERROR
        text = "source %s of controller %s failed (failure %d)"
        _log.log(level, text, source.name, self._controller, counts.failures, exc_info=logged(exc))

    # ── in the event loop ────────────────────────────────────────────────────────────────────

    @contextmanager
    def connected(self, *, leads: bool) -> Iterator[None]:
        """Have :meth:`Source.add` find this controller during the block, which begins before it reconciles.

        Args:
            leads: whether it is certain that it will reconcile, so that keys can wait for that.
        """
        with ExitStack() as stack:
            self._taking = leads
            for source in self._counts:
                stack.enter_context(source._feeding(self))
            yield

    async def run(self) -> None:
        """Open the streams and add the keys that arrive to the queue, until :meth:`stop` or cancelled."""
        with self._scope:
            self._taking = True
            try:
                async with trio.open_nursery() as nursery:
                    for source in self._counts:
                        if source._stream is not None:
                            nursery.start_soon(self._follow, source)
                    await self._add_arrived()
            finally:
                with self._lock:
                    self._taking = False
                    self._waiting.clear()

    def stop(self) -> None:
        """Close the streams, and take no more keys. Does not block."""
        self._scope.cancel()

    def _wake(self) -> None:
        self._arrived.set()

    async def _add_arrived(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived = trio.Event()  # first: what arrives from here on sets it again
            with self._lock:
                waiting, self._waiting = self._waiting, {}
            for (cluster, key), (priority, at) in waiting.items():
                self._adds[cluster](key, priority, max(0.0, at - trio.current_time()))
                await self._slices.checkpoint_if_due()

    async def _follow(self, source: Source) -> None:
        """Open a stream, and again when it has failed or ended."""
        delays = ExponentialBackoff[None](_INITIAL, _CAP)
        counts = self._counts[source]
        iterate = self._iterate_in_thread if source._in_thread else self._iterate
        while True:
            began = trio.current_time()
            failures: list[Exception] = []
            counts.open = True
            try:
                await finish(iterate(source), failures.append)
            finally:
                counts.open = False
            # An end is not taken as final: mostly a connection was closed, and no key would ever come again.
            ended = RuntimeError(f"the stream of source {source.name} has ended, and is opened again")
            self._failed(source, failures[0] if failures else ended)
            now = trio.current_time()
            if now - began >= _SETTLED:
                delays.forget(None)
            await trio.sleep(delays.delay(None, now))

    async def _iterate(self, source: Source) -> None:
        await source._iterate(partial(self._take, source), self._slices.checkpoint_if_due)
        await trio.lowlevel.checkpoint()

    async def _iterate_in_thread(self, source: Source) -> None:
        stopped = threading.Event()
        iterate: Callable[[], None] = partial(source._iterate_in_thread, partial(self._take, source), stopped)
        try:
            # A limiter of its own: the thread is in use for as long as the controller runs.
            await trio.to_thread.run_sync(iterate, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
        finally:
            stopped.set()
