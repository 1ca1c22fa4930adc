"""Reflector: lists and watches one collection, and keeps a sink up to date.

The states are in ``transitions``: list all objects, or stream them over the watch, then watch from their
resourceVersion. The next step after each failure is in ``recovery``, when failures count as over in ``health``, the
pauses in ``pauses``, the deadlines of a stream in ``deadlines``. The numbers are client-go's
(``tools/cache/reflector.go``) unless ``InformerSettings`` says otherwise. Unlike client-go, it detects a silent stream;
falls back to a list if the end of a streaming list is never marked (kubernetes/kubernetes#140890); treats a watch that
the server ends at once as an expired resourceVersion; detects resourceVersions that went back; and spreads the
reconnects of watches that a server ends together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

import trio

from dynkube.client._listwatch import ListWatch
from dynkube.errors import APIError, ConfigError, DynkubeError, TransportError, UnreadableEvent
from dynkube.informers._cache.cache import add_page
from dynkube.informers._cache.store import ListedObjects, Snapshot
from dynkube.informers._reflector.counters import Finished, ReflectorAttempt, ReflectorStatistics, Started, observed
from dynkube.informers._reflector.deadlines import IdleTimeout, Stream
from dynkube.informers._reflector.health import GOOD_WHILE, ReflectorHealth
from dynkube.informers._reflector.outage import OutageWaits
from dynkube.informers._reflector.pauses import Pace
from dynkube.informers._reflector.recovery import Recovery, reason_of, recover
from dynkube.informers._reflector.transitions import (
    Confirming,
    Listing,
    ReflectorState,
    Streaming,
    StreamSilent,
    Watching,
    followed,
)
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._slices import Slices
from dynkube.meta import Bookmark, UnstructuredList, WatchEvent
from dynkube.telemetry import Observers
from dynkube.telemetry._observers import NO_OBSERVERS


class Sink(Protocol):
    """The receiver of a reflector's objects, events and failures."""

    async def replace(self, objects: Snapshot, resource_version: str, *, watched: bool) -> None:
        """Replace all objects; once called, also if it is cancelled. The same holds for ``apply``.

        Args:
            objects: all objects of the collection.
            resource_version: the version of the list.
            watched: whether the objects came over a watch (streaming list) that stays open.
        """

    async def apply(self, events: list[WatchEvent]) -> None:
        """Apply watch events in this order, bookmarks included."""

    def following(self) -> None:
        """Receive the report that a watch is open and healthy."""

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Receive the report that a list or watch failed; it will be retried.

        Args:
            exc: the failure.
            streak: the number of failures before it; 0 if the next attempt will most likely succeed.
            recovery: the next step.
        """


@dataclass(slots=True)
class ServerFeatures:
    """Known features of the server; shared by all reflectors of a client.

    Attributes:
        streaming_lists: whether it supports streaming lists (KEP-3157); ``None`` before that was tried.
        waits: the reflectors that wait after failures.
    """

    streaming_lists: bool | None = None
    waits: OutageWaits = field(default_factory=OutageWaits)


class Reflector:
    """Lists and watches ``source`` until cancelled, and reports to ``sink``.

    Args:
        source: the collection.
        sink: the receiver.
        settings: timing and paging.
        features: the known features of the server; updated, and shared by all reflectors of a client.
        observers: notified of lists and watches.
        consistent: whether the first list must come from etcd, as the API server's watch cache may lag behind.
        statistics: the counters to use; pass those of an earlier reflector to continue counting.
        stamp: returns the timestamp of a new request.
    """

    def __init__(
        self,
        source: ListWatch,
        sink: Sink,
        settings: InjectedSettings,
        features: ServerFeatures,
        observers: Observers = NO_OBSERVERS,
        *,
        consistent: bool = False,
        statistics: ReflectorStatistics | None = None,
        stamp: Callable[[], float] = trio.current_time,
    ) -> None:
        self._statistics = ReflectorStatistics() if statistics is None else statistics
        self._observers = observers
        self._source = source
        self._sink = sink
        self._settings = settings
        self._features = features
        self._stamp = stamp
        self._asked = -math.inf  # when the last attempt was begun
        self._slices = Slices(settings.cpu_clock, budget=settings.slice)
        self._state: ReflectorState = Streaming(Listing("" if consistent else "0"))
        self._streamable = True  # False once a streaming list of this resource failed
        self._watched = False
        self._woken = False  # whether the last pause was cut short
        self._health = ReflectorHealth()
        self._pace = Pace(settings)
        self._idle = IdleTimeout(settings)

    async def run(self) -> None:
        """List and watch until cancelled; never raises because of the cluster."""
        async with trio.open_nursery() as nursery:
            while True:
                try:
                    try:
                        await self._attempt(nursery)
                    finally:
                        self._statistics.listed = 0
                except (APIError, TransportError, ConfigError) as exc:
                    await self._recover(exc)

    async def _attempt(self, nursery: trio.Nursery) -> None:
        """Make one list, or one watch until the server ends it; raises on failure."""
        self._asked = self._stamp()
        if isinstance(self._state, Streaming) and not self._may_stream():
            self._state = self._state.listing
        if isinstance(self._state, Listing):
            with self._observed(self._observers.list_started, self._observers.list_finished) as attempt:
                attempt.items = await self._list(self._state)
        elif isinstance(self._state, Confirming):
            self._state = await self._confirm(self._state)
        else:
            with self._observed(self._observers.watch_started, self._observers.watch_finished):
                await self._watch(nursery, streaming=isinstance(self._state, Streaming))

    def _observed(self, started: Started, finished: Finished) -> AbstractContextManager[ReflectorAttempt]:
        return observed(started, finished, self._source.collection, self._statistics, lambda: followed(self._state))

    def _may_stream(self) -> bool:
        wanted = self._settings.streaming_lists
        if wanted is None:
            return self._streamable and self._features.streaming_lists is not False
        return wanted

    async def _recover(self, exc: APIError | TransportError | ConfigError) -> None:
        health = self._health
        recovery = replace(recover(self._state, exc, health.streak_before(exc)), asked=self._asked)
        self._statistics.failures += 1
        self._statistics.reasons[reason_of(exc)] += 1
        if recovery.stop_streaming:  # detecting what the server supports does not count as a failure
            self._streamable = False
            if not self._features.streaming_lists:  # else the server supports it, and only this resource does not
                self._features.streaming_lists = False
            shown = health.streak
        else:
            shown = health.failed(exc, trio.current_time(), listing=isinstance(self._state, Listing | Streaming))
        self._sink.failing(exc, shown, recovery)
        await self._wait(self._pace.after_failure(exc, recovery, trio.current_time()), exc)
        self._state = recovery.state

    async def _wait(self, seconds: float, exc: DynkubeError) -> None:
        """Wait after a failure, or until another reflector succeeds.

        If this reflector was woken early last time and failed again, it waits for the full time. So waking costs at
        most one extra request per pause.
        """
        if self._woken:
            self._woken = False
            await trio.sleep(seconds)
            return
        settings = self._settings
        self._woken = await self._features.waits.sleep(seconds, exc, settings.random, settings.reconnect_spread)

    # ── Listing ──────────────────────────────────────────────────────────────────────────────

    async def _list(self, listing: Listing) -> int:
        """List all objects, in pages if the server pages; return how many there are."""
        self._statistics.lists += 1
        version = "" if self._settings.consistency == "most_recent" else listing.resource_version
        timeout = self._settings.list_timeout
        limit = None if listing.whole else self._settings.page_size
        objects = ListedObjects()
        paging = self._source.paging()
        with paging.in_time():
            page = await self._source.list(
                resource_version=version,
                resource_version_match="NotOlderThan" if version not in ("", "0") else None,
                limit=limit,
                timeout=timeout,
                paging=paging,
            )
            # Some servers give each page its own version: no event is lost if the watch starts at that of the first.
            complete = listing.complete(page.resource_version)
            await self._add_page(objects, page)
            while token := paging.token_after(page):
                page = await self._source.list(limit=limit, continue_token=token, timeout=timeout, paging=paging)
                await self._add_page(objects, page)
        self._features.waits.answered()
        await self._synced(complete, objects, watched=False)
        self._health.listed(trio.current_time())
        return len(objects)

    async def _add_page(self, objects: ListedObjects, page: UnstructuredList) -> None:
        await add_page(objects, page, self._slices)
        self._statistics.listed = len(objects)

    async def _synced(self, state: Watching, objects: ListedObjects, *, watched: bool) -> None:
        self._statistics.last_activity = self._statistics.last_event = trio.current_time()
        await self._slices.run(objects.freeze())  # if the stream is given up meanwhile, the objects are not delivered
        self._state = state  # from here on no failure requires another list
        await self._sink.replace(objects.done(), state.resource_version, watched=watched)
        await self._slices.run(objects.release())

    async def _confirm(self, state: Confirming) -> Watching:
        """Check that the server has reached the resourceVersion of a silent watch.

        Lists with ``limit=1`` to learn the server's current resourceVersion. The request may reuse the watch's
        connection, which may be dead, so it has the same timeout as a watch that receives no data.
        """
        settings = self._settings
        timeout = min(settings.watch_idle_timeout, settings.list_timeout)
        page = await self._source.list(resource_version="", limit=1, timeout=timeout)
        return state.confirm(page.resource_version)

    # ── Streaming, Watching ──────────────────────────────────────────────────────────────────

    async def _watch(self, nursery: trio.Nursery, *, streaming: bool) -> None:
        """Watch until the server ends the watch normally; raises on failure."""
        settings, before = self._settings, followed(self._state)
        self._statistics.watches += 1
        self._statistics.restarts += self._watched
        self._watched = True
        seconds = settings.random.uniform(*settings.watch_timeout)
        stream = Stream(seconds + settings.watch_margin, self._idle.seconds)
        if streaming:
            stream.limit(settings.streaming_idle_timeout, settings.streaming_timeout)
        try:
            await self._follow(nursery, stream, int(seconds))
        except (APIError, TransportError) as exc:
            # A stream that was open for some time resets the backoff: many proxies cut idle streams. Not after an
            # unreadable line, which the next stream is likely to have as well.
            if stream.age(trio.current_time()) >= GOOD_WHILE and not isinstance(exc, UnreadableEvent):
                self._pace.held()
            raise
        finally:
            stream.open = False
        if isinstance(self._state, Streaming):
            raise StreamSilent("the watch ended before the bookmark that ends the initial events")
        now, news = trio.current_time(), followed(self._state) != before
        await trio.sleep(self._pace.after_end(stream.age(now), seconds, now, news=news))
        if before and not (news or self._idle.bookmarked):
            self._state = Confirming(before)

    async def _follow(self, nursery: trio.Nursery, stream: Stream, seconds: int) -> None:
        """Open a watch and receive its events until the server ends it or is silent."""
        streaming = isinstance(self._state, Streaming)
        # Opening has its own deadline, in the REST client, and may include waits for Retry-After.
        with trio.CancelScope() as patience:
            async with self._source.watch(
                resource_version=followed(self._state), timeout_seconds=seconds, send_initial_events=streaming
            ) as batches:
                stream.batches = batches
                batches.wake_by(patience)
                stream.opened = trio.current_time()
                patience.deadline = stream.deadline(stream.opened)
                self._opened(nursery, stream)
                async for events in batches:
                    patience.deadline = math.inf  # the sink's time does not count as silence
                    await self._received(events, stream)
                    del events  # else the frame keeps these objects alive while the watch is quiet
                    patience.deadline = stream.deadline(trio.current_time())
        if patience.cancelled_caught:
            if stream.batches is not None:
                stream.batches.check_trusted()
            raise self._silence(stream)

    def _silence(self, stream: Stream) -> StreamSilent:
        if isinstance(self._state, Streaming):
            return StreamSilent(f"no event and no bookmark for {stream.idle:g} s")
        if stream.overdue(trio.current_time()):
            return StreamSilent("the server did not end the watch at its timeoutSeconds, so the connection may be lost")
        return self._idle.expired(stream.idle)

    def _opened(self, nursery: trio.Nursery, stream: Stream) -> None:
        self._features.waits.answered()
        hold = self._health.opened(stream.opened)
        if isinstance(self._state, Streaming):  # it succeeds with the end of the initial events
            return
        if self._health.streak == 0:
            self._sink.following()
        elif hold is not None:
            nursery.start_soon(self._prove_healthy, stream, hold)

    async def _prove_healthy(self, stream: Stream, seconds: float) -> None:
        """Record a success if the stream stays open for ``seconds``, even if silent."""
        await trio.sleep(seconds)
        if stream.open and self._health.streak:
            self._healthy()

    def _healthy(self) -> None:
        self._health.healed(trio.current_time())
        self._pace.served()
        self._sink.following()

    async def _received(self, events: list[WatchEvent], stream: Stream) -> None:
        statistics = self._statistics
        statistics.last_activity = trio.current_time()
        statistics.events += len(events)
        if isinstance(self._state, Streaming):
            events = await self._collect(self._state, events, stream)
            if not events:
                return
        state = self._state
        assert isinstance(state, Watching)
        for event in events:
            if isinstance(event, Bookmark):
                self._bookmark_seen()
                state.check_bookmark(event.resource_version)
            else:
                statistics.last_event = statistics.last_activity
        if self._health.streak and self._health.proven_by_event(statistics.last_activity):
            self._healthy()
        last = events[-1]
        self._state = state.advanced(
            last.resource_version if isinstance(last, Bookmark) else last.object.resource_version
        )
        await self._sink.apply(events)

    async def _collect(self, state: Streaming, events: list[WatchEvent], stream: Stream) -> list[WatchEvent]:
        """Collect initial events; return those that came after their end."""
        received = state.receive(events)
        self._statistics.listed = len(state.objects)
        if received is None:
            return []
        end, later = received
        stream.limit(self._idle.seconds)
        self._features.streaming_lists = True
        self._bookmark_seen()
        await self._synced(state.complete(end.resource_version), state.objects, watched=True)
        self._healthy()
        return later

    def _bookmark_seen(self) -> None:
        self._statistics.bookmarks += 1
        self._idle.bookmark_seen()
