"""Reflector: keeps a sink equal to one collection on the server, through everything a network does.

An explicit state machine (``Step``): the initial objects, by a list or over the watch, then changes
from where they ended. What each failure leads to is a table in ``_recovery``. The numbers are
client-go's (``tools/cache/reflector.go``) unless ``InformerSettings`` says otherwise. Different from there:
a stream that goes silent is noticed; a streaming list whose end is never marked falls back to a
list (kubernetes/kubernetes#140890); a watch that the server ends at once counts as an expired version; a
history that went back is noticed; watches that one server ends together do not come back together.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import trio

from dynkube.client import ListWatch
from dynkube.errors import APIError, ConfigError, DynkubeError, TransportError, UnreadableEvent
from dynkube.informers._attempts import Attempt, Finished, ReflectorStatistics, Started, told
from dynkube.informers._cache import add_newest, add_page, remove_unless_newer
from dynkube.informers._health import GOOD_WHILE, Health
from dynkube.informers._recovery import (
    HistoryWentBack,
    Recovery,
    Step,
    StreamCutShort,
    StreamSilent,
    reason_of,
    recover,
)
from dynkube.informers._settings import InformerSettings
from dynkube.informers._slices import Slices
from dynkube.informers._stream import Stream
from dynkube.meta import Bookmark, Deleted, Key, Unstructured, WatchEvent, is_older
from dynkube.rest import Backoff
from dynkube.telemetry import NOBODY, Observers

_AT_ONCE = 1.0  # seconds; a watch that ends sooner, and without news, was none
_MANY_SHORT = 3  # so many short watches in a row are a failure
_PUNCTUAL = 1.0  # the server counts from a little earlier than we do: so much before its time is no early end


class Sink(Protocol):
    """Who a reflector reports to."""

    async def replace(self, objects: dict[Key, Unstructured], resource_version: str, *, watched: bool) -> None:
        """These are all objects, as of that version; ``watched``: by a watch that is open and goes on."""

    async def apply(self, events: list[WatchEvent]) -> None:
        """These changes came, in this order."""

    def following(self) -> None:
        """A watch is open and healthy."""

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """An attempt failed; it will be tried again. ``streak`` is 0 for what the next attempt most likely heals."""


@dataclass(slots=True)
class ServerFeatures:
    """What one server turned out to be able to do; shared by all reflectors of a client."""

    streaming_lists: bool | None = None


class Reflector:
    """Lists and watches ``source`` for ever, and tells ``sink``.

    Args:
        source: the collection.
        sink: who is told.
        settings: timing and paging.
        features: what the server can do; learned, and shared.
        observers: told of lists and watches.
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
        self._slices = Slices(settings.cpu_clock, budget=settings.slice)
        self._features = features
        self._backoff = Backoff(random=settings.random)
        # A resource that was just created is often not served for a moment: look again sooner.
        self._missing_backoff = Backoff(initial=0.2, random=settings.random)
        self._step = Step.LIST  # what is being done, or done next
        self._version = ""  # the last version seen; "" before the first list
        self._consistent = consistent  # the next list asks for the most recent state
        self._whole = False  # and for all of it at once
        self._health = Health()
        self._short = 0  # watches in a row that the server ended within a good while
        self._no_streaming = False
        self._silence = settings.silence
        self._bookmarked = False  # whether this resource has ever sent a bookmark
        self._watched = False

    async def run(self) -> None:
        """Run until cancelled; returns never, and raises nothing of the cluster's making."""
        async with trio.open_nursery() as nursery:
            self._step = Step.STREAM if self._may_stream() else Step.LIST
            while True:
                try:
                    await self._take(nursery)
                except (APIError, TransportError, ConfigError) as exc:
                    await self._recover(exc)

    async def _take(self, nursery: trio.Nursery) -> None:
        if self._step is Step.LIST:
            with self._attempt(self._observers.list_started, self._observers.list_finished) as attempt:
                attempt.items = await self._list()
        else:
            with self._attempt(self._observers.watch_started, self._observers.watch_finished):
                await self._watch(nursery, streaming=self._step is Step.STREAM)
        self._step = Step.WATCH

    def _attempt(self, started: Started, finished: Finished) -> AbstractContextManager[Attempt]:
        return told(started, finished, self._source.collection, self._statistics, lambda: self._version)

    async def _recover(self, exc: APIError | TransportError | ConfigError) -> None:
        health = self._health
        recovery = recover(self._step, exc, health.streak)
        self._statistics.failures += 1
        self._statistics.reasons[reason_of(exc)] += 1
        if recovery.stop_streaming:  # finding out what the server can do is no failure of it
            self._no_streaming = True
            if not self._features.streaming_lists:  # else it can, and this resource, or this time, is the exception
                self._features.streaming_lists = False
            shown = health.streak
        else:
            shown = health.failed(exc, trio.current_time())
        self._consistent = recovery.consistent or (self._consistent and not self._version)
        self._whole = recovery.consistent
        self._sink.failing(exc, shown, recovery)
        await trio.sleep(0.0 if recovery.immediate else self._delay(exc, recovery))
        self._step = recovery.step
        if self._step is Step.STREAM and not self._may_stream():
            self._step = Step.LIST

    def _delay(self, exc: DynkubeError, recovery: Recovery) -> float:
        backoff = self._missing_backoff if recovery.missing else self._backoff
        return backoff.next(trio.current_time(), asked=exc.retry_after if isinstance(exc, APIError) else None)

    def _may_stream(self) -> bool:
        wanted = self._settings.streaming_lists
        if wanted is None:
            return not self._no_streaming and self._features.streaming_lists is not False
        return wanted

    # ── LIST ─────────────────────────────────────────────────────────────────────────────────

    async def _list(self) -> int:
        """All objects, in pages where the server pages; they replace what the sink has. Returns how many."""
        self._statistics.lists += 1
        version = "" if self._consistent else self._version or "0"
        limit = None if self._whole else self._settings.page_size  # an expired page leads to one full list
        page = await self._source.list(
            resource_version=version,
            resource_version_match="NotOlderThan" if version not in ("", "0") else None,
            limit=limit,
            timeout=self._settings.list_timeout,
        )
        if is_older(page.resource_version, version):  # it was asked for one that is not older
            raise HistoryWentBack(f"listed as of version {page.resource_version}, although {version} was told before")
        # Some servers give every page a version of its own: nothing is lost if the watch begins at the first.
        version = page.resource_version
        objects: dict[Key, Unstructured] = {}
        await add_page(objects, page, self._slices)
        while page.continue_token:
            page = await self._source.list(
                limit=limit, continue_token=page.continue_token, timeout=self._settings.list_timeout
            )
            await add_page(objects, page, self._slices)
        self._consistent = self._whole = False
        await self._replaced(objects, version)
        return len(objects)

    async def _replaced(self, objects: dict[Key, Unstructured], version: str, *, watched: bool = False) -> None:
        self._version = version
        self._statistics.last_activity = self._statistics.last_event = trio.current_time()
        await self._sink.replace(objects, version, watched=watched)

    # ── WATCH, STREAM ────────────────────────────────────────────────────────────────────────

    async def _watch(self, nursery: trio.Nursery, *, streaming: bool) -> None:
        """One watch, to its clean end; anything else is raised."""
        settings = self._settings
        self._statistics.watches += 1
        self._statistics.restarts += self._watched
        self._watched = True
        seconds = settings.random.uniform(*settings.watch_timeout)
        version = self._version
        stream = Stream(seconds + settings.watch_margin, self._silence)
        if streaming:
            stream.expect_initial(settings.streaming_silence, settings.streaming_timeout)
        try:
            await self._follow(nursery, stream, int(seconds))
        except (APIError, TransportError) as exc:
            # What held for a good while was in order: many proxies cut idle streams, which is no reason to come back
            # late. An unreadable line says more about the next stream than this one's age.
            if stream.age(trio.current_time()) >= GOOD_WHILE and not isinstance(exc, UnreadableEvent):
                self._backoff.reset()
            raise
        finally:
            stream.open = False
        if stream.initial is not None:
            raise StreamSilent("the watch ended before the end of the initial objects was marked")
        await self._ended(stream, seconds, news=self._version != version)

    async def _follow(self, nursery: trio.Nursery, stream: Stream, seconds: int) -> None:
        """Open a watch and take what comes, until the server ends it or is not heard any more."""
        streaming = stream.initial is not None
        # Opening has a deadline of its own, in the REST client, and may include waits that the server asked for.
        with trio.CancelScope() as patience:
            async with self._source.watch(
                resource_version=self._version, timeout_seconds=seconds, send_initial_events=streaming
            ) as batches:
                stream.batches = batches
                batches.wake_by(patience)
                stream.opened = trio.current_time()
                patience.deadline = stream.deadline(stream.opened)
                if not streaming:
                    self._opened(nursery, stream)
                async for events in batches:
                    patience.deadline = math.inf  # what the sink takes is not the server's silence
                    await self._received(events, stream)
                    del events  # a quiet watch keeps no objects
                    patience.deadline = stream.deadline(trio.current_time())
        if patience.cancelled_caught:
            if stream.batches is not None:
                stream.batches.check_trusted()
            self._went_silent(stream)

    async def _ended(self, stream: Stream, seconds: float, *, news: bool) -> None:
        """The server ended the watch as it should; wait, if it was too soon."""
        age = stream.age(trio.current_time())
        if age < _AT_ONCE and not news:
            raise StreamCutShort("the server ended the watch at once, without any news")
        if age >= GOOD_WHILE:
            self._short = 0
            self._backoff.reset()
            if age < int(seconds) - _PUNCTUAL:  # a server that shuts down ends the watches of everybody
                await trio.sleep(self._settings.random.uniform(0, self._settings.reconnect_spread))
            return
        self._short += 1
        if self._short >= _MANY_SHORT:
            raise StreamCutShort(f"the server ends one watch after the other within {GOOD_WHILE:g} s")
        await trio.sleep(self._backoff.next(trio.current_time()))

    def _opened(self, nursery: trio.Nursery, stream: Stream) -> None:
        if self._health.streak == 0:
            self._sink.following()
        elif (seconds := self._health.opened(stream.opened)) is not None:
            nursery.start_soon(self._prove_healthy, stream, seconds)

    async def _prove_healthy(self, stream: Stream, seconds: float) -> None:
        """After failures, a stream that stays open for long enough counts as a success, even if silent."""
        await trio.sleep(seconds)
        if stream.open and self._health.streak:
            self._healthy()

    def _healthy(self) -> None:
        self._health.healed(trio.current_time())
        self._missing_backoff.reset()
        self._sink.following()

    async def _received(self, events: list[WatchEvent], stream: Stream) -> None:
        self._statistics.last_activity = trio.current_time()
        self._statistics.events += len(events)
        if stream.initial is not None:
            events = await self._collect(events, stream)
        if not events:
            return
        for event in events:
            if isinstance(event, Bookmark):
                self._bookmark_seen()
                self._check_history(event.resource_version)
            else:
                self._statistics.last_event = self._statistics.last_activity
        if self._health.streak and self._health.proven_by_words(trio.current_time()):
            self._healthy()
        last = events[-1]
        version = last.resource_version if isinstance(last, Bookmark) else last.object.resource_version
        # Without one, the next watch would begin with everything; and where a server lags behind, it is not followed.
        if version and not is_older(version, self._version):
            self._version = version
        await self._sink.apply(events)

    async def _collect(self, events: list[WatchEvent], stream: Stream) -> list[WatchEvent]:
        """Initial objects of a streaming list; returns what came after their end."""
        assert stream.initial is not None
        for position, event in enumerate(events):
            if isinstance(event, Deleted):
                remove_unless_newer(stream.initial, event.object)
            elif not isinstance(event, Bookmark):
                add_newest(stream.initial, event.object)
            elif event.initial_events_end:
                objects, stream.initial = stream.initial, None
                stream.end_seen(self._silence)
                self._step = Step.WATCH  # from here on nothing that goes wrong costs another list
                self._features.streaming_lists = True
                self._bookmark_seen()
                await self._replaced(objects, event.resource_version, watched=True)
                self._healthy()
                return events[position + 1 :]
        return []

    def _bookmark_seen(self) -> None:
        self._statistics.bookmarks += 1
        self._bookmarked = True
        self._silence = self._settings.silence

    def _check_history(self, version: str) -> None:
        # Of single objects it would prove nothing: some aggregated APIs count versions per object.
        if is_older(version, self._version):
            raise HistoryWentBack(f"a bookmark of version {version} came, although {self._version} was told before")

    def _went_silent(self, stream: Stream) -> None:
        if stream.overdue(trio.current_time()):
            raise StreamSilent("the server did not end the watch, although its time was up: it is not heard any more")
        if stream.initial is None and not self._bookmarked:
            # Perhaps this resource sends no bookmarks and is just quiet: listen longer next time.
            self._silence = min(self._silence * 2, self._settings.watch_timeout[1] + self._settings.watch_margin)
            raise StreamSilent(f"no event for {stream.silence:g} s", certain=False)
        raise StreamSilent(f"no event and no bookmark for {stream.silence:g} s")
