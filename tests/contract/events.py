"""Reads the events of a watch."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress

import trio

from tests.contract.objects import JSONObject

# Seconds to wait for an event or response: real servers need milliseconds, and virtual time costs nothing.
GIVE_UP = 30.0


class Events:
    """The events of one watch, in order."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""

    async def next(self) -> JSONObject:
        """Return the next event.

        Raises:
            StopAsyncIteration: the server ended the watch.
            trio.TooSlowError: no event was received in time.
        """
        with trio.fail_after(GIVE_UP):
            while b"\n" not in self._buffer:
                self._buffer += await anext(self._chunks)
        line, _, self._buffer = self._buffer.partition(b"\n")
        event: JSONObject = json.loads(line)
        return event

    async def take(self, count: int) -> list[JSONObject]:
        """Return the next ``count`` events."""
        return [await self.next() for _ in range(count)]

    async def until(self, name: str) -> list[JSONObject]:
        """Return the events up to and including the first of the object ``name``, a marker for "nothing else came"."""
        found = [await self.next()]
        while found[-1]["object"]["metadata"].get("name") != name:
            found.append(await self.next())
        return found

    async def rest(self) -> list[JSONObject]:
        """Return all events until the server ends the watch, which requires ``timeoutSeconds``."""
        found: list[JSONObject] = []
        with suppress(StopAsyncIteration):
            while True:
                found.append(await self.next())
        return found


def types_and_names(events: list[JSONObject]) -> list[tuple[str, str]]:
    """Return the type and the object's name of each event."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]
