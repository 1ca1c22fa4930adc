"""Watches: streams of events.

A stream has a position in the log of its resource, and a selection of objects. Events are not buffered, so a slow
client needs no memory: events are made from the log when the client reads them. If the log was compacted beyond the
position, the stream ends; a real server ends slow watches, too.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import trio

from dynkube.errors import APIError
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.documents import Event, StoredDocument, bookmark, error_event
from dynkube_testing._store.history import Change, Collection
from dynkube_testing._store.selectors import Selection
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, remote_content

#: Lets a webhook convert stored objects to the version of a kind, and returns without an error if it fails.
Converter: TypeAlias = Callable[[Kind, Sequence[Version]], Awaitable[None]]

_BATCH = 500
_RETRY = 1.0  # seconds until a webhook that has failed is called again


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Options of one stream. Times are in seconds; ``math.inf`` means never.

    Attributes:
        timeout: The duration after which the server ends the stream.
        bookmark_interval: The interval between bookmarks.
        initial_end: Whether to send the bookmark that ends the initial events.
    """

    timeout: float
    bookmark_interval: float = math.inf
    initial_end: bool = False


class Stream:
    """One open watch, an async iterator over batches of events.

    It implements :class:`~dynkube_testing._calls.api.WatchStream`.

    Args:
        kind: The watched kind, in the requested API version.
        wanted: The selected objects.
        storage: The storage to watch.
        revision: Changes after this revision are sent.
        initial: Objects to send first, as ADDED.
        settings: Timeout and bookmarks.
        watches: The open streams, from which this one is removed when it is closed.
        convert: Function by which a webhook converts objects before they are sent; ``None`` if none is called. As in a
            real server, an object that cannot be converted holds up the stream, and is tried again.
    """

    def __init__(
        self,
        kind: Kind,
        wanted: Selection,
        storage: Storage,
        *,
        revision: int,
        initial: Sequence[Version],
        settings: WatchSettings,
        watches: Watches,
        convert: Converter | None = None,
    ) -> None:
        self.kind = kind
        self._convert = convert if remote_content(kind) is not None else None
        self._wanted = wanted
        self._storage = storage
        self._collection: Collection = storage.collection(kind.storage_group)
        self._position = revision
        self._initial = deque(initial)
        self._initial_end = settings.initial_end
        self._watches = watches
        self._last: float = math.inf
        self._end: Literal["clean", "closed"] | None = None
        self._error: APIError | None = None
        self._wakeup = trio.Event()
        self._start = trio.current_time()
        self._deadline = self._start + settings.timeout
        self._bookmark_interval = settings.bookmark_interval
        self._next_bookmark = self._bookmark_time(self._start)

    # ── called by the server ──────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Close the stream, and end an iteration that waits for events. Idempotent."""
        self._end = "closed"
        self._watches.discard(self)
        self._wakeup.set()

    def fail(self, error: APIError) -> None:
        """Send ``error`` as an ERROR event, and then end the stream."""
        self._error = error
        self._initial_end = False
        self._wakeup.set()

    def end(self) -> None:
        """End the stream after the events so far."""
        if self._end is None:
            self._end = "clean"
            self._last = min(self._last, self._storage.revision)
            self._wakeup.set()

    def wake(self) -> None:
        """Make a waiting iteration read the log, because there are new changes."""
        self._wakeup.set()

    # ── called by the reader ──────────────────────────────────────────────────────────────────

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[Event, ...]:
        await trio.lowlevel.checkpoint()
        while True:
            if self._end == "closed":
                raise StopAsyncIteration
            await self._convert_ahead()
            if events := self._collect():
                return tuple(events)
            if self._over():
                raise StopAsyncIteration
            await self._wait()

    def _over(self) -> bool:
        # A stream whose position is before the compaction must end, since the changes after its position are lost.
        lost = self._position < self._collection.forgotten
        return self._end == "clean" or lost or trio.current_time() >= self._deadline

    async def _convert_ahead(self) -> None:
        """Convert the objects of the next events, as far as the webhook can; others may come meanwhile."""
        if self._convert is not None and self._error is None and (ahead := self._ahead()):
            await self._convert(self.kind, ahead)

    def _ahead(self) -> list[Version]:
        """Return the objects of the next events that a webhook must convert first."""
        if self._convert is None:
            return []
        log = self._collection.log
        changes = log[self._collection.since(self._position) :][:_BATCH]
        versions = [*self._initial, *(each for change in changes for each in (change.before, change.after) if each)]
        return [version for version in versions if not version.readable(self.kind)]

    async def _wait(self) -> None:
        retry = trio.current_time() + _RETRY if self._ahead() else math.inf
        with trio.move_on_at(min(self._deadline, self._next_bookmark, retry)):
            await self._wakeup.wait()
        if self._wakeup.is_set():
            self._wakeup = trio.Event()

    def _collect(self) -> list[Event]:
        if self._error is not None:
            error, self._error, self._end = self._error, None, "clean"
            self._last = -1
            return [error_event(error)]
        events: list[Event] = []
        while self._initial and len(events) < _BATCH and self._readable(self._initial[0]):
            events.append(Event("ADDED", StoredDocument(self.kind, self._initial.popleft())))
        if self._initial:
            return events
        if self._initial_end:
            self._initial_end = False
            events.append(bookmark(self.kind, self._position, initial_events_end=True))
        if not self._position < self._collection.forgotten:
            self._read_log(events)
        if not events:
            self._add_bookmark(events)
        return events

    def _read_log(self, events: list[Event]) -> None:
        log = self._collection.log
        for index in range(self._collection.since(self._position), len(log)):
            change = log[index]
            if change.revision > self._last or len(events) >= _BATCH:
                return
            if not self._readable(change.before, change.after):
                return
            self._position = change.revision
            if event := self._event(change):
                events.append(event)
        # All changes of this resource were read, so the stream is up to date with the whole storage.
        if self._end is None:
            self._position = max(self._position, self._storage.revision)

    def _event(self, change: Change) -> Event | None:
        """Return the event for ``change``; ``None`` if no selected object changed.

        If an object starts to match the selectors, the event is ADDED. If it stops to match, the event is DELETED, with
        the last object that matched.
        """
        was = self._matches(change.before)
        if change.after is not None and self._matches(change.after):
            return Event("MODIFIED" if was else "ADDED", StoredDocument(self.kind, change.after))
        if not was:
            return None
        assert change.before is not None
        last = change.before.copied(self.kind, change.before.moved_to(change.revision))
        return Event("DELETED", StoredDocument(self.kind, last))

    def _matches(self, version: Version | None) -> bool:
        if version is None:
            return False
        return self._wanted.matches(version.shown(self.kind) if self._convert and self._wanted.selective else version)

    def _readable(self, *versions: Version | None) -> bool:
        return self._convert is None or all(each is None or each.readable(self.kind) for each in versions)

    def _add_bookmark(self, events: list[Event]) -> None:
        now = trio.current_time()
        if now >= self._next_bookmark and self._end is None:
            self._next_bookmark = self._bookmark_time(now)
            # As in a real server, no bookmark is sent to a watch from a future resourceVersion. A real server also
            # sends none if nothing at all was written, which does not happen in a cluster.
            if self._position <= self._storage.revision:
                events.append(bookmark(self.kind, self._position))

    def _bookmark_time(self, now: float) -> float:
        """Return the time of the next bookmark.

        As in a real server, bookmarks are sent at each interval, and two seconds before the timeout of the watch.
        """
        if self._bookmark_interval == math.inf:
            return math.inf
        before_end = self._deadline - 2
        regular = now + self._bookmark_interval
        return before_end if now < before_end < regular else regular


class Watches:
    """The open streams, by storage group."""

    def __init__(self, storage: Storage) -> None:
        # Dicts are used as ordered sets: streams are woken in the order in which they were opened.
        self._streams: dict[str, dict[Stream, None]] = {}
        storage.listen(self._changed)

    def add(self, stream: Stream) -> None:
        """Add ``stream``, so that it is woken on changes until it is closed."""
        self._streams.setdefault(stream.kind.storage_group, {})[stream] = None

    def discard(self, stream: Stream) -> None:
        """Remove ``stream``, if it is registered."""
        self._streams.get(stream.kind.storage_group, {}).pop(stream, None)

    def end(self, storage_group: str | None = None) -> int:
        """End the open streams of one resource after the events so far.

        Args:
            storage_group: The storage group of the resource; ``None`` for all resources.

        Returns:
            The number of ended streams.
        """
        streams = [
            stream for group, streams in self._streams.items() if storage_group in {None, group} for stream in streams
        ]
        for stream in streams:
            stream.end()
        return len(streams)

    def __len__(self) -> int:
        return sum(len(streams) for streams in self._streams.values())

    def _changed(self, group: str, _change: Change) -> None:
        for stream in self._streams.get(group, ()):
            stream.wake()
