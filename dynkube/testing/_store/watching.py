"""Watches: a log position and a selection each, so slow readers cost nothing.

No events are buffered. A stream reads the log of its resource from its own position when its reader asks for more.
If the log was compacted past that position, the stream ends, as a real server ends slow watchers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import trio

from dynkube.errors import APIError
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.documents import Event, StoredDocument, bookmark, error_event
from dynkube.testing._store.history import Change, Collection
from dynkube.testing._store.selectors import Selection
from dynkube.testing._store.storage import Storage
from dynkube.testing._store.versions import Version

_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Options of one stream. Times are seconds; ``math.inf`` means never.

    Attributes:
        timeout: The duration after which the server ends it.
        bookmark_interval: The interval of bookmarks.
        initial_end: Whether to send the bookmark that ends the initial events.
    """

    timeout: float
    bookmark_interval: float = math.inf
    initial_end: bool = False


class Stream:
    """One open watch; an async iterator of batches of events.

    See :class:`~dynkube.testing._calls.api.WatchStream` for its protocol.

    Args:
        kind: The watched kind, in the requested version.
        wanted: The selected objects.
        storage: The storage.
        revision: Changes after this one are sent.
        initial: Objects to send first, as ADDED.
        settings: Timeout and bookmarks.
        watches: The registry of open streams.
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
    ) -> None:
        self.kind = kind
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
        """Close the watch; a waiting iteration ends. Idempotent."""
        self._end = "closed"
        self._watches.discard(self)
        self._wakeup.set()

    def fail(self, error: APIError) -> None:
        """Send ``error`` as an ERROR event, then end."""
        self._error = error
        self._initial_end = False
        self._wakeup.set()

    def end(self) -> None:
        """End it after the events so far."""
        if self._end is None:
            self._end = "clean"
            self._last = min(self._last, self._storage.revision)
            self._wakeup.set()

    def wake(self) -> None:
        """Notify it of new changes."""
        self._wakeup.set()

    # ── called by its reader ──────────────────────────────────────────────────────────────────

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[Event, ...]:
        await trio.lowlevel.checkpoint()
        while True:
            if self._end == "closed":
                raise StopAsyncIteration
            if events := self._collect():
                return tuple(events)
            if self._over():
                raise StopAsyncIteration
            await self._wait()

    def _over(self) -> bool:
        # Falling behind the compacted log ends a stream too: the changes that it missed are gone.
        lost = self._position < self._collection.forgotten
        return self._end == "clean" or lost or trio.current_time() >= self._deadline

    async def _wait(self) -> None:
        with trio.move_on_at(min(self._deadline, self._next_bookmark)):
            await self._wakeup.wait()
        if self._wakeup.is_set():
            self._wakeup = trio.Event()

    def _collect(self) -> list[Event]:
        if self._error is not None:
            error, self._error, self._end = self._error, None, "clean"
            self._last = -1
            return [error_event(error)]
        events: list[Event] = []
        while self._initial and len(events) < _BATCH:
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
            self._position = change.revision
            if event := self._event(change):
                events.append(event)
        # No later changes of this resource, so the stream is up to date.
        if self._end is None:
            self._position = max(self._position, self._storage.revision)

    def _event(self, change: Change) -> Event | None:
        """Return the change as an event of this selection, or ``None``.

        An object that begins to match is ADDED; one that ceases to is DELETED, with its last matching state.
        """
        was = change.before is not None and self._wanted.matches(change.before)
        if change.after is not None and self._wanted.matches(change.after):
            return Event("MODIFIED" if was else "ADDED", StoredDocument(self.kind, change.after))
        if not was:
            return None
        assert change.before is not None
        return Event("DELETED", StoredDocument(self.kind, change.before.moved_to(change.revision)))

    def _add_bookmark(self, events: list[Event]) -> None:
        now = trio.current_time()
        if now >= self._next_bookmark and self._end is None:
            self._next_bookmark = self._bookmark_time(now)
            # A real server sends none if its store has not changed at all, which does not happen in a cluster, and
            # none to a watch from a resourceVersion that it has not reached.
            if self._position <= self._storage.revision:
                events.append(bookmark(self.kind, self._position))

    def _bookmark_time(self, now: float) -> float:
        """Return the time of the next bookmark.

        Like the real server's cacher, send one at each interval, and one two seconds before the end.
        """
        if self._bookmark_interval == math.inf:
            return math.inf
        before_end = self._deadline - 2
        regular = now + self._bookmark_interval
        return before_end if now < before_end < regular else regular


class Watches:
    """The open streams, by storage group."""

    def __init__(self, storage: Storage) -> None:
        # Dicts for their order: streams are woken in the order they were opened.
        self._streams: dict[str, dict[Stream, None]] = {}
        storage.listen(self._changed)

    def add(self, stream: Stream) -> None:
        """Register ``stream``, which is woken on changes until it closes."""
        self._streams.setdefault(stream.kind.storage_group, {})[stream] = None

    def discard(self, stream: Stream) -> None:
        """Unregister ``stream``."""
        self._streams.get(stream.kind.storage_group, {}).pop(stream, None)

    def end(self, storage_group: str | None = None) -> int:
        """End the open streams of one resource, or all, after the events so far.

        Returns:
            The number of streams.
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
