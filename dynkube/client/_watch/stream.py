"""A watch that reconnects: one stream of events over any number of requests.

When a request ends, breaks, idles too long or gets a transient error response, the next one resumes from the last
resourceVersion seen. Errors that a retry cannot fix are raised: a bad request, and responses that stay unreadable.

An open watch is not ended by one 401, 403 or 404, which an API server also sends while it starts, and a proxy at any
time. They are raised once they are confirmed (``Refusals``). After a 404 for the resource it is discovered again: if
its CRD serves another version now, the watch goes on there, unless the caller asked for a version.

If the resourceVersion has expired (410 as a response or as an event, "too large resource version", a watch that the
server ends immediately without events), the collection is listed again and the difference to the events so far is
emitted. The latest state of each object is emitted; objects that were created and deleted in between are not.
client-go's RetryWatcher stops at this point and leaves the list to its user. A watch that was started at a given
resourceVersion does not know the earlier state, so it cannot compute a difference and raises Gone.
"""

from __future__ import annotations

import logging
import random as random_module
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Self

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube.client._batches import Batch, Batches
from dynkube.client._listwatch import ListWatch
from dynkube.client._options import ListOptions
from dynkube.client._pages import joined, list_all
from dynkube.client._watch.state import Refusals, Seen, may_be_a_moments
from dynkube.client._watch_settings import WatchSettings
from dynkube.errors import (
    APIError,
    BadRequest,
    ClosedError,
    DeadlineExceeded,
    DynkubeError,
    Gone,
    Invalid,
    ServerError,
    TooManyRequests,
    TransportError,
    UnreadableEvent,
)
from dynkube.meta import GVR, Bookmark, WatchEvent
from dynkube.meta._versions import is_older
from dynkube.rest._backoff import Backoff

_log = get_logger("dynkube.client")

_TOO_LARGE: Final = "ResourceVersionTooLarge"  # the server lags behind, or was restored from a backup
_GOOD_WHILE: Final = 10.0
_MANY_SHORT: Final = 3  # consecutive short requests after which backoff starts
_GONE_HINT: Final = (
    "the server no longer keeps the resource_version at which this watch started: list again and watch from the "
    "list's resource_version, or leave resource_version out, then the watch lists again by itself when necessary"
)


class Watch(Bound, AsyncIterator[WatchEvent]):
    """The events of one collection: ``async for event in events``.

    Created by :meth:`ResourceClient.watch`. It has no background task: it reads from the server only while the consumer
    waits for the next event, so a slow consumer applies backpressure to the server instead of filling memory. A
    cancelled step loses no event; the next one continues from the same position. Not for use by several tasks at once.

    Attributes:
        last_error: the last error; ``None`` again once events arrive.
    """

    def __init__(
        self,
        collection: ListWatch,
        *,
        resource_version: str | None,
        bookmarks: bool,
        settings: WatchSettings,
        random: random_module.Random,
        locate: Callable[[GVR], Awaitable[ListWatch | bool]],
    ) -> None:
        self._collection = collection
        self._locate_again = locate
        self._refusals = Refusals()
        self._settings = settings
        self._random = random
        self._backoff = Backoff(random=random)
        self._bookmarks = bookmarks
        # "" and "0" request an initial state; with any other version the caller has that state already.
        self._seen = Seen() if resource_version in {None, "", "0"} else None
        self._version = resource_version or ""
        self._must_list = self._seen is not None
        self._must_probe = False
        self._must_locate = False
        self._ready: deque[WatchEvent] = deque()
        self._request: AbstractAsyncContextManager[Batches] | None = None
        self._batches: Batches | None = None
        self._opened_at = 0.0
        self._ends_at = 0.0  # time by which the server should have ended the request
        self._event_received = False  # whether the open request has received any event
        self._not_before = 0.0
        self._unreadable = 0
        self._short_ones = 0  # consecutive requests that the server ended within _GOOD_WHILE
        self._bookmarked = False  # whether a bookmark was ever received
        self._silences = 0  # consecutive requests without events although bookmarks were expected
        self._closed = False
        self._requests = 0
        self.last_error: Exception | None = None

    @property
    def restarts(self) -> int:
        """Number of watch requests after the first."""
        return max(0, self._requests - 1)

    @property
    def _is_uninstalled(self) -> bool:
        """Whether it is confirmed that the resource is not served in any version."""
        return self._refusals.of_uninstalled_resource

    @property
    def pending(self) -> int:
        """Number of events received but not yet consumed."""
        return len(self._ready)

    async def open(self) -> None:
        """Send the first request; raises any error, including connection failures."""
        try:
            await (self._list() if self._must_list else self._connect())
        except Gone as exc:
            exc.add_note(_GONE_HINT)
            raise
        self._collection = self._collection.pacing_itself()  # retries have their own backoff here, without Retry-After

    async def aclose(self) -> None:
        """Close the open request. Not interrupted by cancellation."""
        self._closed = True
        await self._disconnect()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        if self._closed:
            raise ClosedError("the watch is closed, as is every watch after its 'async with' block: open another one")
        while not self._ready:
            await trio.sleep_until(self._not_before)
            began = trio.current_time()
            try:
                await self._advance()
            except (APIError, TransportError) as exc:
                if self._was_healthy():
                    self._refusals.end()
                    if not isinstance(exc, APIError | UnreadableEvent):
                        self._backoff.reset()  # proxies cut idle streams routinely: the shortest delay
                await self._disconnect()
                self._recover(exc, began)
            except BaseException:  # cancelled, or no credential: the partial batch is lost, the position is kept
                await self._disconnect()
                raise
        await trio.lowlevel.checkpoint()
        return self._ready.popleft()

    async def take(self) -> list[WatchEvent]:
        """Return the next event and all others that arrived with it, in one step."""
        events = [await self.__anext__(), *self._ready]
        self._ready.clear()
        return events

    async def _advance(self) -> None:
        if self._must_locate:
            await self._locate()
        elif self._must_probe:
            await self._probe()
        elif self._must_list:
            await self._list()
        elif self._batches is None:
            await self._connect()
        else:
            await self._receive(self._batches)

    async def _list(self) -> None:
        assert self._seen is not None
        # "0" (any cached state) applies only to the first list, if the caller passed it. Later lists read the most
        # recent state.
        version = "0" if self._version == "0" else None
        listing = await list_all(self._collection, ListOptions(resource_version=version), joined)
        self._ready.extend(self._seen.difference(listing))
        self._refusals.end()
        self._version = listing.resource_version
        self._must_list = False

    async def _locate(self) -> None:
        """Discover the resource again, and go on with its collection as it is served now."""
        asked, self._must_locate = trio.current_time(), False
        try:
            found = await self._locate_again(self._collection.gvr)
        except ClosedError:
            raise
        except DynkubeError as exc:  # so it is not known where it is served; the next request may show it
            _log.debug("%r: cannot discover the resource again: %s", self._collection, exc)
            return
        self._refusals.discovered(asked, lacking=found is False)
        if isinstance(found, ListWatch) and found.gvr != self._collection.gvr:
            self._collection = found.pacing_itself()
            self._forget_history(probe=True)

    async def _connect(self) -> None:
        settings = self._settings
        seconds = int(self._random.uniform(settings.min_timeout, settings.max_timeout))
        request = self._collection.watch(resource_version=self._version, timeout_seconds=seconds)
        self._batches = await request.__aenter__()
        self._request = request
        self._requests += 1
        self._opened_at = trio.current_time()
        self._ends_at = self._opened_at + seconds + settings.timeout_margin
        self._event_received = False

    async def _disconnect(self) -> None:
        request, self._request, self._batches = self._request, None, None
        if request is not None:
            await request.__aexit__(None, None, None)

    async def _receive(self, batches: Batches) -> None:
        silent_at = trio.current_time() + self._settings.watch_idle_timeout
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
        if self._bookmarked and not self._event_received:
            # A server whose resourceVersion is behind sends nothing until it has caught up. So after the second silent
            # request, list or check the resourceVersion.
            self._silences += 1
            if self._silences > 1:
                self._forget_history(probe=True)
        raise DeadlineExceeded(
            f"{self._collection}: no event and no bookmark for {self._settings.watch_idle_timeout:g} s"
        )

    def _take(self, batch: Batch) -> None:
        self._event_received = True
        self._silences = 0
        self._unreadable = 0
        self.last_error = None
        self._refusals.end()
        for event in batch:
            if isinstance(event, Bookmark):
                self._check_history(event.resource_version)
            if self._seen is not None:
                self._seen.note(event)
            if not isinstance(event, Bookmark) or self._bookmarks:
                self._ready.append(event)
            version = event.resource_version if isinstance(event, Bookmark) else event.object.resource_version
            if version and not is_older(version, self._version):
                self._version = version  # updated per event, as a later event of the batch may end this request

    def _check_history(self, version: str) -> None:
        self._bookmarked = True
        if is_older(version, self._version):  # restored from a backup, or one of several servers lags behind
            self._forget_history(probe=True)
            raise TransportError(
                f"{self._collection}: received a bookmark of resourceVersion {version} after {self._version}"
            )

    def _was_healthy(self) -> bool:
        """Whether the open request received events or was open for ``_GOOD_WHILE``."""
        lived = trio.current_time() - self._opened_at
        return self._request is not None and (self._event_received or lived >= _GOOD_WHILE)

    async def _ended(self) -> None:
        """Handle a clean end of a watch; on some servers an immediate end means 410."""
        await self._disconnect()
        now = trio.current_time()
        if now - self._opened_at >= _GOOD_WHILE:
            self._short_ones = 0
            self._refusals.end()
            return
        self._short_ones += 1
        self._not_before = self._opened_at + self._settings.short
        if not self._event_received and now < self._not_before:
            self._not_before = now + self._backoff.next(now)
            self._forget_history(probe=True)
        elif self._short_ones >= _MANY_SHORT:
            self._not_before = now + self._backoff.next(now)

    async def _probe(self) -> None:
        """Check that the server still has the current resourceVersion; raises Gone if not."""
        try:
            await self._collection.list(resource_version=self._version, resource_version_match="Exact", limit=1)
        except (BadRequest, Invalid) as exc:  # an aggregated API may not support Exact
            _log.debug("%r: cannot list at an exact resourceVersion: %s", self._collection, exc)
        self._must_probe = False

    def _recover(self, exc: APIError | TransportError, began: float) -> None:
        """Handle an error of a request that began then: raise it, or schedule a retry."""
        level = logging.INFO if self.last_error is None else logging.DEBUG  # one record per outage
        if not may_be_a_moments(exc):
            self._refusals.end()
        self.last_error = exc
        if isinstance(exc, Gone) or any(cause.reason == _TOO_LARGE for cause in getattr(exc, "causes", ())):
            self._history_lost(exc)
        elif isinstance(exc, UnreadableEvent):
            self._unreadable += 1
            if self._unreadable >= self._settings.max_unreadable:
                raise exc
            self._forget_history(probe=False)
        elif may_be_a_moments(exc):
            self._refusals.add(began, exc)
            if self._refusals.confirmed:
                raise exc
            self._must_locate = self._refusals.of_resource
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
        """Require a list before the next watch.

        If the watch was started at a resourceVersion, no list is possible; with ``probe`` the next step checks whether
        that resourceVersion has expired.
        """
        if self._seen is not None:
            self._must_list = True
        else:
            self._must_probe = probe
