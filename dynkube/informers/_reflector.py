"""Reflector: keeps a sink equal to one collection on the server, through everything a network does.

The requests around a table of states (``_transitions``): list all objects, or stream them over the watch, then follow
changes from where they ended. What each failure leads to is a table too (``_recovery``). When failures count as over is
decided in ``_health``, the pauses in ``_pace``, the deadlines of a stream in ``_stream``. The numbers are client-go's
(``tools/cache/reflector.go``) unless ``InformerSettings`` says otherwise. Different from there: a stream that goes
silent is noticed; a streaming list whose end is never marked falls back to a list (kubernetes/kubernetes#140890); a
watch that the server ends at once counts as an expired version; revisions that went back are noticed; watches that one
server ends together do not come back together.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import trio

from dynkube.client import ListWatch
from dynkube.errors import APIError, ConfigError, DynkubeError, TransportError, UnreadableEvent
from dynkube.informers._attempts import Attempt, Finished, ReflectorStatistics, Started, told
from dynkube.informers._cache import add_page
from dynkube.informers._health import GOOD_WHILE, Health
from dynkube.informers._outage import OutageWaits
from dynkube.informers._pace import Pace
from dynkube.informers._recovery import Recovery, reason_of, recover
from dynkube.informers._settings import InformerSettings
from dynkube.informers._slices import Slices
from dynkube.informers._stream import IdleTimeout, Stream
from dynkube.informers._transitions import (
    Confirming,
    Listing,
    ReflectorState,
    Streaming,
    StreamSilent,
    Watching,
    followed,
)
from dynkube.meta import Bookmark, Key, Unstructured, WatchEvent
from dynkube.telemetry import NOBODY, Observers


class Sink(Protocol):
    """What a reflector reports to."""

    async def replace(self, objects: dict[Key, Unstructured], resource_version: str, *, watched: bool) -> None:
        """These are all objects, as of that version; ``watched``: by a watch that is open and goes on."""

    async def apply(self, events: list[WatchEvent]) -> None:
        """These changes came, in this order. Bookmarks are among them."""

    def following(self) -> None:
        """A watch is open and healthy."""

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """An attempt failed; it will be tried again. ``streak`` is 0 for what the next attempt most likely heals."""


@dataclass(slots=True)
class ServerFeatures:
    """What is known of one server; shared by all reflectors of a client.

    Attributes:
        streaming_lists: whether it can stream lists; ``None`` before that was tried.
        waits: those who wait for it after failures.
    """

    streaming_lists: bool | None = None
    waits: OutageWaits = field(default_factory=OutageWaits)


class Reflector:
    """Lists and watches ``source`` until cancelled, and reports to ``sink``.

    Args:
        source: the collection.
        sink: what is reported to.
        settings: timing and paging.
        features: what the server can do; learned, and shared.
        observers: notified of lists and watches.
        consistent: the first list must not come from a cache that may lag behind.
        statistics: where to count; those of an earlier reflector go on.
    """

    def __init__(
        self,
        source: ListWatch,
        sink: Sink,
        settings: InformerSettings,
        features: ServerFeatures,
        observers: Observers = NOBODY,
        *,
        consistent: bool = False,
        statistics: ReflectorStatistics | None = None,
    ) -> None:
        self._statistics = ReflectorStatistics() if statistics is None else statistics
        self._observers = observers
        self._source = source
        self._sink = sink
        self._settings = settings
        self._features = features
        self._slices = Slices(settings.cpu_clock, budget=settings.slice)
        self._state: ReflectorState = Streaming(Listing("" if consistent else "0"))
        self._streamable = True  # as far as this resource has shown
        self._watched = False
        self._woken = False  # whether the last pause was cut short
        self._health = Health()
        self._pace = Pace(settings)
        self._idle = IdleTimeout(settings)

    async def run(self) -> None:
        """Run until cancelled; never returns, and raises nothing that the cluster causes."""
        async with trio.open_nursery() as nursery:
            while True:
                try:
                    await self._attempt(nursery)
                except (APIError, TransportError, ConfigError) as exc:
                    await self._recover(exc)

    async def _attempt(self, nursery: trio.Nursery) -> None:
        """One list, or one watch to its clean end; what fails is raised."""
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

    def _observed(self, started: Started, finished: Finished) -> AbstractContextManager[Attempt]:
        return told(started, finished, self._source.collection, self._statistics, lambda: followed(self._state))

    def _may_stream(self) -> bool:
        wanted = self._settings.streaming_lists
        if wanted is None:
            return self._streamable and self._features.streaming_lists is not False
        return wanted

    async def _recover(self, exc: APIError | TransportError | ConfigError) -> None:
        health = self._health
        recovery = recover(self._state, exc, health.streak_before(exc))
        self._statistics.failures += 1
        self._statistics.reasons[reason_of(exc)] += 1
        if recovery.stop_streaming:  # finding out what the server can do is no failure of it
            self._streamable = False
            if not self._features.streaming_lists:  # else it can, and this resource, or this time, is the exception
                self._features.streaming_lists = False
            shown = health.streak
        else:
            shown = health.failed(exc, trio.current_time(), listing=isinstance(self._state, Listing | Streaming))
        self._sink.failing(exc, shown, recovery)
        await self._wait(self._pace.after_failure(exc, recovery, trio.current_time()), exc)
        self._state = recovery.state

    async def _wait(self, seconds: float, exc: DynkubeError) -> None:
        """Wait after a failure, unless another reflector finds the server back.

        One that was woken and failed again waits to the end: success of others is no promise, and so it makes at most
        one request more for each of its pauses.
        """
        if self._woken:
            self._woken = False
            await trio.sleep(seconds)
            return
        settings = self._settings
        self._woken = await self._features.waits.sleep(seconds, exc, settings.random, settings.reconnect_spread)

    # ── Listing ──────────────────────────────────────────────────────────────────────────────

    async def _list(self, listing: Listing) -> int:
        """All objects, in pages where the server pages; they replace what the sink has. Returns how many."""
        self._statistics.lists += 1
        version = "" if self._settings.consistency == "most_recent" else listing.resource_version
        timeout = self._settings.list_timeout
        limit = None if listing.whole else self._settings.page_size
        objects: dict[Key, Unstructured] = {}
        paging = self._source.paging()
        with paging.in_time():
            page = await self._source.list(
                resource_version=version,
                resource_version_match="NotOlderThan" if version not in ("", "0") else None,
                limit=limit,
                timeout=timeout,
                paging=paging,
            )
            # Some servers give every page a version of its own: nothing is lost if the watch begins at the first.
            complete = listing.complete(page.resource_version)
            await add_page(objects, page, self._slices)
            while token := paging.token_after(page):
                page = await self._source.list(limit=limit, continue_token=token, timeout=timeout, paging=paging)
                await add_page(objects, page, self._slices)
        self._features.waits.answered()
        await self._synced(complete, objects, watched=False)
        self._health.listed(trio.current_time())
        return len(objects)

    async def _synced(self, state: Watching, objects: dict[Key, Unstructured], *, watched: bool) -> None:
        self._state = state  # from here on nothing that fails costs another list
        self._statistics.last_activity = self._statistics.last_event = trio.current_time()
        await self._sink.replace(objects, state.resource_version, watched=watched)

    async def _confirm(self, state: Confirming) -> Watching:
        """Ask for one object: what counts is the version of the list.

        This may be sent on a connection that is as dead as the watch was, so its deadline is that of a silent stream.
        """
        settings = self._settings
        timeout = min(settings.silence, settings.list_timeout)
        page = await self._source.list(resource_version="", limit=1, timeout=timeout)
        return state.confirm(page.resource_version)

    # ── Streaming, Watching ──────────────────────────────────────────────────────────────────

    async def _watch(self, nursery: trio.Nursery, *, streaming: bool) -> None:
        """One watch, to its clean end; anything else is raised."""
        settings, before = self._settings, followed(self._state)
        self._statistics.watches += 1
        self._statistics.restarts += self._watched
        self._watched = True
        seconds = settings.random.uniform(*settings.watch_timeout)
        stream = Stream(seconds + settings.watch_margin, self._idle.seconds)
        if streaming:
            stream.limit(settings.streaming_silence, settings.streaming_timeout)
        try:
            await self._follow(nursery, stream, int(seconds))
        except (APIError, TransportError) as exc:
            # What held for a good while was in order: many proxies cut idle streams, which is no reason to come back
            # late. An unreadable line says more about the next stream than this one's age.
            if stream.age(trio.current_time()) >= GOOD_WHILE and not isinstance(exc, UnreadableEvent):
                self._pace.held()
            raise
        finally:
            stream.open = False
        if isinstance(self._state, Streaming):
            raise StreamSilent("the watch ended before the end of the initial objects was marked")
        now, news = trio.current_time(), followed(self._state) != before
        await trio.sleep(self._pace.after_end(stream.age(now), seconds, now, news=news))
        if before and not (news or self._idle.bookmarked):
            self._state = Confirming(before)

    async def _follow(self, nursery: trio.Nursery, stream: Stream, seconds: int) -> None:
        """Open a watch and take what comes, until the server ends it or is not heard any more."""
        streaming = isinstance(self._state, Streaming)
        # Opening has a deadline of its own, in the REST client, and may include waits that the server asked for.
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
                    patience.deadline = math.inf  # the time that the sink takes is not the server's silence
                    await self._received(events, stream)
                    del events  # a quiet watch keeps no objects
                    patience.deadline = stream.deadline(trio.current_time())
        if patience.cancelled_caught:
            if stream.batches is not None:
                stream.batches.check_trusted()
            raise self._silence(stream)

    def _silence(self, stream: Stream) -> StreamSilent:
        if isinstance(self._state, Streaming):
            return StreamSilent(f"no event and no bookmark for {stream.idle:g} s")
        if stream.overdue(trio.current_time()):
            return StreamSilent("the server did not end the watch, although its time was up: it is not heard any more")
        return self._idle.expired(stream.idle)

    def _opened(self, nursery: trio.Nursery, stream: Stream) -> None:
        self._features.waits.answered()
        hold = self._health.opened(stream.opened)
        if isinstance(self._state, Streaming):  # its success is the end of the initial events
            return
        if self._health.streak == 0:
            self._sink.following()
        elif hold is not None:
            nursery.start_soon(self._prove_healthy, stream, hold)

    async def _prove_healthy(self, stream: Stream, seconds: float) -> None:
        """After failures, a stream that stays open for long enough counts as a success, even if silent."""
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
        if self._health.streak and self._health.proven_by_words(statistics.last_activity):
            self._healthy()
        last = events[-1]
        self._state = state.advanced(
            last.resource_version if isinstance(last, Bookmark) else last.object.resource_version
        )
        await self._sink.apply(events)

    async def _collect(self, state: Streaming, events: list[WatchEvent], stream: Stream) -> list[WatchEvent]:
        """Take initial events; returns what came after their end."""
        received = state.receive(events)
        if received is None:
            return []
        end, later = received
        stream.limit(self._idle.seconds)
        self._features.streaming_lists = True
        self._bookmark_seen()
        await self._synced(Watching(end.resource_version), state.objects, watched=True)
        self._healthy()
        return later

    def _bookmark_seen(self) -> None:
        self._statistics.bookmarks += 1
        self._idle.bookmark_seen()
