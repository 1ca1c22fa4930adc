"""A watch that resumes by itself: one stream of events over any number of requests.

From the last version seen it opens the next request when one ends, breaks, goes silent or is refused for a
while. What cannot be healed by asking again is raised: 401, 403, 404, a request the server finds bad, and
answers that stay unreadable.

Where the server has forgotten the history since (410 as an answer or as an event, a version it calls too
large, a watch that it ends at once and without a word), the collection is listed again and the difference
to what was shown is handed out, so nothing is lost; what came and went in between is not seen. client-go's
RetryWatcher ends at this point and leaves the listing to its user. A watch that began at a given
resourceVersion does not know what was there before it, so there is no difference to tell: it raises Gone.
"""

from __future__ import annotations

import logging
import random as random_module
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final, Self

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube.client._batches import Batch, Batches
from dynkube.client._listwatch import ListWatch
from dynkube.client._options import ListOptions
from dynkube.client._pager import joined, list_all
from dynkube.client._seen import Seen
from dynkube.client._watch_settings import WatchSettings
from dynkube.errors import (
    APIError,
    BadRequest,
    ClosedError,
    DeadlineExceeded,
    Gone,
    Invalid,
    ServerError,
    TooManyRequests,
    TransportError,
    UnreadableEvent,
)
from dynkube.meta import Bookmark, WatchEvent, is_older
from dynkube.rest import Backoff

_log = get_logger("dynkube.client")

_TOO_LARGE: Final = "ResourceVersionTooLarge"  # the server's history is behind, or was restored from a backup
_GOOD_WHILE: Final = 10.0
_MANY_SHORT: Final = 3  # after so many short requests in a row there is a growing pause between them
_GONE_HINT: Final = (
    "the server no longer has the history from the resource_version this watch began at: list again and watch from the "
    "list's resource_version, or leave resource_version out, then the watch lists again by itself when it has to"
)


class Watch(Bound, AsyncIterator[WatchEvent]):
    """The events of one collection; ``async for event in events``. Made by :meth:`ResourceClient.watch`.

    It has no task of its own: everything happens in the step that waits for the next event, so a slow
    reader slows the server down rather than filling memory. A step that is cancelled loses nothing, the
    next one goes on from where the watch was. Not for several tasks at once.

    Attributes:
        last_error: what went wrong last; ``None`` again once events come.
    """

    def __init__(
        self,
        collection: ListWatch,
        *,
        resource_version: str | None,
        bookmarks: bool,
        settings: WatchSettings,
        random: random_module.Random,
    ) -> None:
        self._collection = collection
        self._settings = settings
        self._random = random
        self._backoff = Backoff(random=random)
        self._bookmarks = bookmarks
        # "" and "0" ask for a state to begin with; any other version is one whose state the caller has.
        self._seen = Seen() if resource_version in {None, "", "0"} else None
        self._version = resource_version or ""
        self._must_list = self._seen is not None
        self._must_probe = False
        self._ready: deque[WatchEvent] = deque()
        self._request: AbstractAsyncContextManager[Batches] | None = None
        self._batches: Batches | None = None
        self._opened_at = 0.0
        self._ends_at = 0.0  # when the server should have ended the request itself
        self._told = False  # whether this request has said anything yet
        self._not_before = 0.0
        self._unreadable = 0
        self._short_ones = 0  # requests in a row that the server ended within a good while
        self._bookmarked = False  # whether a bookmark ever came
        self._silences = 0  # requests in a row that said nothing, where bookmarks were to be expected
        self._closed = False
        self._requests = 0
        self.last_error: Exception | None = None

    @property
    def restarts(self) -> int:
        """How often another watch request was needed after the first."""
        return max(0, self._requests - 1)

    @property
    def pending(self) -> int:
        """How many events were received and not handed out yet."""
        return len(self._ready)

    async def open(self) -> None:
        """Make the first contact: raises what prevents it, be it only the network."""
        try:
            await (self._list() if self._must_list else self._connect())
        except Gone as exc:
            exc.add_note(_GONE_HINT)
            raise
        self._collection = self._collection.pacing_itself()  # from here on there is a backoff, and somebody to tell

    async def aclose(self) -> None:
        """End the request that is open. Not interrupted by cancellation."""
        self._closed = True
        await self._disconnect()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        if self._closed:
            raise ClosedError("the watch is closed, or its block has been left: open another one")
        while not self._ready:
            await trio.sleep_until(self._not_before)
            try:
                await self._advance()
            except (APIError, TransportError) as exc:
                if self._was_healthy() and not isinstance(exc, APIError | UnreadableEvent):
                    self._backoff.reset()  # proxies cut idle streams all day long; that is no reason to come back late
                await self._disconnect()
                self._recover(exc)
            except BaseException:  # cancelled, or no credential: what was being received is lost, the position is not
                await self._disconnect()
                raise
        await trio.lowlevel.checkpoint()
        return self._ready.popleft()

    async def take(self) -> list[WatchEvent]:
        """The next event with all that came along with it: one step for many events."""
        events = [await self.__anext__(), *self._ready]
        self._ready.clear()
        return events

    async def _advance(self) -> None:
        if self._must_probe:
            await self._probe()
        elif self._must_list:
            await self._list()
        elif self._batches is None:
            await self._connect()
        else:
            await self._receive(self._batches)

    async def _list(self) -> None:
        assert self._seen is not None
        # "0" is only ever the caller's own word for where to begin; lists after that are most recent.
        version = "0" if self._version == "0" else None
        listing = await list_all(self._collection, ListOptions(resource_version=version), joined)
        self._ready.extend(self._seen.difference(listing))
        self._version = listing.resource_version
        self._must_list = False

    async def _connect(self) -> None:
        settings = self._settings
        seconds = int(self._random.uniform(settings.min_timeout, settings.max_timeout))
        request = self._collection.watch(resource_version=self._version, timeout_seconds=seconds)
        self._batches = await request.__aenter__()
        self._request = request
        self._requests += 1
        self._opened_at = trio.current_time()
        self._ends_at = self._opened_at + seconds + settings.timeout_margin
        self._told = False

    async def _disconnect(self) -> None:
        request, self._request, self._batches = self._request, None, None
        if request is not None:
            await request.__aexit__(None, None, None)

    async def _receive(self, batches: Batches) -> None:
        silent_at = trio.current_time() + self._settings.silence
        with trio.CancelScope(deadline=min(silent_at, self._ends_at)) as scope:
            batches.wake_by(scope)
            try:
                self._take(await anext(batches))
            except StopAsyncIteration:
                await self._ended()
        if not scope.cancelled_caught:
            return
        batches.check_trusted()
        if silent_at > self._ends_at:
            await self._ended()
            return
        if self._bookmarked and not self._told:
            # A server whose history is behind this watch's is silent until it has caught up: ask what there is.
            self._silences += 1
            if self._silences > 1:
                self._forget_history(probe=True)
        raise DeadlineExceeded(f"{self._collection}: neither event nor bookmark for {self._settings.silence:g} s")

    def _take(self, batch: Batch) -> None:
        self._told = True
        self._silences = 0
        self._unreadable = 0
        self.last_error = None
        for event in batch:
            if isinstance(event, Bookmark):
                self._check_history(event.resource_version)
            if self._seen is not None:
                self._seen.note(event)
            if not isinstance(event, Bookmark) or self._bookmarks:
                self._ready.append(event)
            version = event.resource_version if isinstance(event, Bookmark) else event.object.resource_version
            if version and not is_older(version, self._version):
                self._version = version  # at once: a later event of the batch may be the one that ends this request

    def _check_history(self, version: str) -> None:
        self._bookmarked = True
        if is_older(version, self._version):  # restored from a backup, or one of several servers that lags
            self._forget_history(probe=True)
            raise TransportError(
                f"{self._collection}: a bookmark of version {version} came, although {self._version} was told before"
            )

    def _was_healthy(self) -> bool:
        """Whether the request that is open has said something, or was open for a good while."""
        lived = trio.current_time() - self._opened_at
        return self._request is not None and (self._told or lived >= _GOOD_WHILE)

    async def _ended(self) -> None:
        """The request ended as it should, unless it was so short that this is how 410 looks on some servers."""
        await self._disconnect()
        now = trio.current_time()
        if now - self._opened_at >= _GOOD_WHILE:
            self._short_ones = 0
            return
        self._short_ones += 1
        self._not_before = self._opened_at + self._settings.short
        if not self._told and now < self._not_before:
            self._not_before = now + self._backoff.next(now)
            self._forget_history(probe=True)
        elif self._short_ones >= _MANY_SHORT:
            self._not_before = now + self._backoff.next(now)

    async def _probe(self) -> None:
        """Ask whether the server still has the version this watch stands at; raises Gone if not."""
        try:
            await self._collection.list(resource_version=self._version, resource_version_match="Exact", limit=1)
        except (BadRequest, Invalid) as exc:  # an aggregated API may know no Exact; then nobody can tell
            _log.debug("%r: cannot ask for an exact version: %s", self._collection, exc)
        self._must_probe = False

    def _recover(self, exc: APIError | TransportError) -> None:
        """Decide what an error means: raise it, or note what the next step is and when."""
        level = logging.INFO if self.last_error is None else logging.DEBUG  # one record, however long it lasts
        self.last_error = exc
        if isinstance(exc, Gone) or any(cause.reason == _TOO_LARGE for cause in getattr(exc, "causes", ())):
            self._history_lost(exc)
        elif isinstance(exc, UnreadableEvent):
            self._unreadable += 1
            if self._unreadable >= self._settings.max_unreadable:
                raise exc
            self._forget_history(probe=False)
        elif isinstance(exc, APIError) and not isinstance(exc, TooManyRequests | ServerError):
            raise exc
        now = trio.current_time()
        self._not_before = now + self._backoff.next(now, asked=exc.retry_after if isinstance(exc, APIError) else None)
        _log.log(level, "%r: resuming in %.1f s: %s", self._collection, self._not_before - now, exc)

    def _history_lost(self, exc: APIError | TransportError) -> None:
        if self._seen is not None:
            self._forget_history(probe=False)
        elif isinstance(exc, Gone):
            exc.add_note(_GONE_HINT)
            raise exc

    def _forget_history(self, *, probe: bool) -> None:
        """List before watching again; where that would tell nothing, at most look whether history is there."""
        if self._seen is not None:
            self._must_list = True
        else:
            self._must_probe = probe
