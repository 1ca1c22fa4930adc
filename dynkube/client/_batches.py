"""The events of one open watch, in batches.

A batch has the events that end in one received chunk. After the last batch the iteration ends, or raises the error
that ended the watch.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

import msgspec
import trio

from dynkube.errors import APIError, ConnectionLost, ProtocolError, UnreadableEvent
from dynkube.meta import Bookmark, Deleted, HashShard, WatchEvent
from dynkube.meta._events import Added, Modified
from dynkube.meta._json import UNREADABLE
from dynkube.meta._wire.events import decode_watch_line
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.rest._lines import LineSplitter
from dynkube.rest._stream import ByteStream

Batch: TypeAlias = list[WatchEvent]
"""The events that one received chunk completed, in order; never empty."""


class Batches(AsyncIterator[Batch]):
    """The events of one open watch.

    A class and not an async generator, which causes a warning if it is garbage-collected unfinished.

    Args:
        stream: the open response.
        lines: splits it into events.
        decoder: decodes their objects.
        request: description of the request, for messages.
        namespace: the namespace that is watched; an object of another one is an error. ``None`` for all.
        shard: objects of other shards count as deleted. So each resourceVersion reaches the caller, which has nothing
            to delete: an object stays in its shard. (Or another object had the name before: that is gone, then.)
    """

    __slots__ = ("_decoder", "_error", "_lines", "_namespace", "_narrowed", "_request", "_shard", "_stream")

    def __init__(
        self,
        stream: ByteStream,
        lines: LineSplitter,
        decoder: ObjectDecoder,
        request: str,
        *,
        namespace: str | None = None,
        shard: HashShard | None = None,
    ) -> None:
        self._namespace = namespace
        self._shard = shard
        self._narrowed = namespace is not None or shard is not None
        self._stream = stream
        self._lines = lines
        self._decoder = decoder
        self._request = request
        self._error: Exception | None = None  # raised once the events before it were returned

    def wake_by(self, scope: trio.CancelScope) -> None:
        """Cancel ``scope`` when the client gives up the stream.

        Args:
            scope: the cancel scope in which the caller waits for batches.
        """
        self._stream.reader = scope

    def check_trusted(self) -> None:
        """Raise an error if the client has given up the stream.

        To be called after the scope was cancelled.

        Raises:
            ConnectionLost: the stream was given up.
        """
        self._stream.check_trusted()

    async def __anext__(self) -> Batch:
        while self._error is None:
            try:
                chunk = await anext(self._stream)
            except StopAsyncIteration:
                self._error = StopAsyncIteration()
                batch = self._decode_rest()
            else:
                batch = self._decode_chunk(chunk)
            if batch:
                return batch
        await trio.lowlevel.checkpoint()
        raise self._error

    def _decode_chunk(self, chunk: bytes) -> Batch:
        try:
            lines = self._lines.feed(chunk)
        except ProtocolError as exc:
            self._error = UnreadableEvent(f"{exc} [{self._request}]")
            return []
        return self._decode_lines(lines)

    def _decode_rest(self) -> Batch:
        rest = self._lines.finish()
        if not rest.strip():
            return []
        # No JSON object is a proper prefix of another: if it can be parsed, only the newline is missing.
        batch = self._decode_lines([rest])
        if isinstance(self._error, UnreadableEvent) and not _is_json(rest):
            self._error = ConnectionLost(
                f"the watch ended in the middle of a line, after {len(rest)} bytes of it [{self._request}]"
            )
        return batch

    def _decode_lines(self, lines: list[bytes]) -> Batch:
        batch: Batch = []
        for line in lines:
            if not line.strip():
                continue
            try:
                event = decode_watch_line(line, self._decoder)
                if self._narrowed and not isinstance(event, Bookmark):
                    event = self._placed(event)
            except APIError as exc:
                self._error = APIError.from_status(self._stream.redact.status(exc.status), request=exc.request)
                break
            except ProtocolError as exc:
                self._error = UnreadableEvent(self._stream.redact(f"{exc} [{self._request}]"))
                break
            batch.append(event)
        return batch

    def _placed(self, event: Added | Modified | Deleted) -> WatchEvent:
        """Return the event, as a deletion if its object is in another shard.

        Raises:
            ProtocolError: the object is not in the namespace that is watched.
        """
        if self._namespace is not None and event.object.namespace != self._namespace:
            raise ProtocolError(f"watching namespace {self._namespace!r}, received an event of {event.object!r}")
        if self._shard is not None and not self._shard.matches(event.object):
            return Deleted(event.object)
        return event


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except UNREADABLE:
        return False
    return True
