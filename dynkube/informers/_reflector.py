"""Reflector: keeps a sink equal to one collection on the server, through everything a network does.

An explicit state machine (``Step``): the initial objects, by a list or over the watch, then changes
from where they ended. What each failure leads to is a table in ``_recovery``. The numbers are
client-go's (``tools/cache/reflector.go``) unless ``InformerSettings`` says otherwise. Different from there:
a stream that goes silent is noticed; a streaming list whose end is never marked falls back to a
list (kubernetes/kubernetes#140890); a watch that the server ends at once counts as an expired version.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import trio

from dynkube.client import ListWatch
from dynkube.errors import APIError, ConfigError, DynkubeError, TransportError
from dynkube.informers._cache import keyed
from dynkube.informers._recovery import Recovery, Step, StreamCutShort, StreamSilent, recover
from dynkube.informers._settings import InformerSettings
from dynkube.meta import Bookmark, Deleted, Key, Unstructured, WatchEvent
from dynkube.rest import Backoff


class Sink(Protocol):
    """Who a reflector reports to."""

    async def replace(self, objects: dict[Key, Unstructured], resource_version: str) -> None:
        """These are all objects, as of that version."""

    async def apply(self, events: list[WatchEvent]) -> None:
        """These changes came, in this order."""

    def following(self) -> None:
        """A watch is open and healthy."""

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """An attempt failed, the ``streak``-th in a row (from 0); it will be tried again."""


@dataclass(slots=True)
class ServerFeatures:
    """What one server turned out to be able to do; shared by all reflectors of a client."""

    streaming_lists: bool | None = None


@dataclass(slots=True)
class ReflectorStatistics:
    """A reflector in numbers. Times are those of trio's clock."""

    lists: int = 0
    watches: int = 0
    events: int = 0
    bookmarks: int = 0
    failures: int = 0
    last_activity: float = -math.inf
    last_error: str = ""


class Reflector:
    """Lists and watches ``source`` for ever, and tells ``sink``."""

    def __init__(self, source: ListWatch, sink: Sink, settings: InformerSettings, features: ServerFeatures) -> None:
        self.statistics = ReflectorStatistics()
        self._source = source
        self._sink = sink
        self._settings = settings
        self._features = features
        self._backoff = Backoff(random=settings.random)
        # A resource that was just created is often not served for a moment: look again sooner.
        self._missing_backoff = Backoff(initial=0.2, random=settings.random)
        self._step = Step.LIST  # what is being done, or done next
        self._version = ""  # the last version seen; "" before the first list
        self._consistent = False  # the next list asks for the most recent state
        self._streak = 0
        self._silence = settings.silence
        self._bookmarked = False  # whether this resource has ever sent a bookmark

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
            await self._list()
        else:
            await self._watch(nursery, streaming=self._step is Step.STREAM)
        self._step = Step.WATCH

    async def _recover(self, exc: APIError | TransportError | ConfigError) -> None:
        recovery = recover(self._step, exc, self._streak)
        self.statistics.failures += 1
        self.statistics.last_error = f"{type(exc).__name__}: {exc}"
        if recovery.stop_streaming:
            self._features.streaming_lists = False
        self._consistent = recovery.consistent
        self._sink.failing(exc, self._streak, recovery)
        if not recovery.stop_streaming:  # finding out what the server can do is no failure of it
            self._streak += 1
        delay = 0.0
        if not recovery.immediate:
            backoff = self._missing_backoff if recovery.missing else self._backoff
            delay = backoff.next(trio.current_time())
            if isinstance(exc, APIError) and exc.retry_after is not None:
                delay = max(delay, exc.retry_after)
        await trio.sleep(delay)
        self._step = recovery.step
        if self._step is Step.STREAM and not self._may_stream():
            self._step = Step.LIST

    def _may_stream(self) -> bool:
        wanted = self._settings.streaming_lists
        return self._features.streaming_lists is not False if wanted is None else wanted

    # ── LIST ─────────────────────────────────────────────────────────────────────────────────

    async def _list(self) -> None:
        """All objects, in pages where the server pages; they replace what the sink has."""
        self.statistics.lists += 1
        version = "" if self._consistent else self._version or "0"
        limit = None if self._consistent else self._settings.page_size  # an expired page leads to one full list
        page = await self._source.list(
            resource_version=version,
            resource_version_match="NotOlderThan" if version not in ("", "0") else None,
            limit=limit,
            timeout=self._settings.list_timeout,
        )
        objects = keyed(page)
        while page.continue_token:
            page = await self._source.list(
                limit=limit, continue_token=page.continue_token, timeout=self._settings.list_timeout
            )
            objects.update(keyed(page))
        self._consistent = False
        await self._replaced(objects, page.resource_version)

    async def _replaced(self, objects: dict[Key, Unstructured], version: str) -> None:
        self._version = version
        self.statistics.last_activity = trio.current_time()
        await self._sink.replace(objects, version)

    # ── WATCH, STREAM ────────────────────────────────────────────────────────────────────────

    async def _watch(self, nursery: trio.Nursery, *, streaming: bool) -> None:
        """One watch, to its clean end; anything else is raised."""
        settings = self._settings
        self.statistics.watches += 1
        seconds = settings.random.uniform(*settings.watch_timeout)
        version = self._version
        stream = _Stream(seconds + settings.watch_margin, self._silence)
        if streaming:
            stream.expect_initial(settings.streaming_silence, settings.streaming_timeout)
        try:
            # Opening has a deadline of its own, in the REST client, and may include waits that the server asked for.
            with trio.CancelScope() as patience:
                async with self._source.watch(
                    resource_version=self._version, timeout_seconds=int(seconds), send_initial_events=streaming
                ) as batches:
                    stream.opened = trio.current_time()
                    patience.deadline = stream.deadline(stream.opened)
                    if not streaming:
                        self._opened(nursery, stream)
                    async for events in batches:
                        patience.deadline = math.inf  # what the sink takes is not the server's silence
                        await self._received(events, stream)
                        patience.deadline = stream.deadline(trio.current_time())
        finally:
            stream.open = False
        if patience.cancelled_caught:
            self._went_silent(stream)
        if stream.initial is not None:
            raise StreamSilent("the watch ended before the end of the initial objects was marked")
        if trio.current_time() - stream.opened < 1.0 and self._version == version:
            raise StreamCutShort("the server ended the watch at once, without any news")

    def _opened(self, nursery: trio.Nursery, stream: _Stream) -> None:
        if self._streak == 0:
            self._sink.following()
        else:
            nursery.start_soon(self._prove_healthy, stream)

    async def _prove_healthy(self, stream: _Stream) -> None:
        """After failures, a stream that stays open for a moment counts as a success, even if silent."""
        await trio.sleep(1.0)
        if stream.open:
            self._healthy()

    def _healthy(self) -> None:
        self._streak = 0
        self._missing_backoff.reset()
        self._sink.following()

    async def _received(self, events: list[WatchEvent], stream: _Stream) -> None:
        self.statistics.last_activity = trio.current_time()
        self.statistics.events += len(events)
        if stream.initial is not None:
            events = await self._collect(events, stream)
        if not events:
            return
        if self._streak:
            self._healthy()
        for event in events:
            if isinstance(event, Bookmark):
                self._bookmark_seen()
        last = events[-1]
        version = last.resource_version if isinstance(last, Bookmark) else last.object.resource_version
        self._version = version or self._version  # without one, the next watch would begin with everything
        await self._sink.apply(events)

    async def _collect(self, events: list[WatchEvent], stream: _Stream) -> list[WatchEvent]:
        """Initial objects of a streaming list; returns what came after their end."""
        assert stream.initial is not None
        for position, event in enumerate(events):
            if isinstance(event, Deleted):
                stream.initial.pop(event.object.key, None)
            elif not isinstance(event, Bookmark):
                stream.initial[event.object.key] = event.object
            elif event.initial_events_end:
                objects, stream.initial = stream.initial, None
                stream.end_seen(self._silence)
                self._step = Step.WATCH  # from here on nothing that goes wrong costs another list
                self._features.streaming_lists = True
                self._bookmark_seen()
                await self._replaced(objects, event.resource_version)
                self._healthy()
                return events[position + 1 :]
        return []

    def _bookmark_seen(self) -> None:
        self.statistics.bookmarks += 1
        self._bookmarked = True
        self._silence = self._settings.silence

    def _went_silent(self, stream: _Stream) -> None:
        if stream.initial is None and not self._bookmarked:
            # Perhaps this resource sends no bookmarks and is just quiet: listen longer next time.
            self._silence = min(self._silence * 2, self._settings.watch_timeout[1] + self._settings.watch_margin)
        raise StreamSilent(f"no event and no bookmark for {stream.silence:g} s")


class _Stream:
    """The deadlines of one watch, and what is known of it."""

    __slots__ = ("_lifetime", "_timeout", "initial", "open", "opened", "silence")

    def __init__(self, lifetime: float, silence: float) -> None:
        self._lifetime = self._timeout = lifetime
        self.silence = silence
        self.open = True
        self.opened = math.inf
        """When the server began to answer; deadlines count from there."""
        self.initial: dict[Key, Unstructured] | None = None
        """The initial objects so far, while a streaming list has not ended."""

    def expect_initial(self, silence: float, timeout: float) -> None:
        """The stream begins with a list, which is given less patience."""
        self.initial = {}
        self.silence = silence
        self._timeout = min(self._lifetime, timeout)

    def end_seen(self, silence: float) -> None:
        """The list ended; from here it is a watch."""
        self.silence = silence
        self._timeout = self._lifetime

    def deadline(self, now: float) -> float:
        """When to give up, if nothing more is heard."""
        return min(now + self.silence, self.opened + self._timeout)
