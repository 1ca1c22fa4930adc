"""The events of a watch, as they come."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress

import trio

from tests.contract.objects import JSONObject

# Real servers answer in milliseconds, and virtual time is free: what has not come by then does not come.
GIVE_UP = 30.0


class Events:
    """The events of one watch, in their order."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""

    async def next(self) -> JSONObject:
        """The next event.

        Raises:
            StopAsyncIteration: The server has ended the watch.
            trio.TooSlowError: None came.
        """
        with trio.fail_after(GIVE_UP):
            while b"\n" not in self._buffer:
                self._buffer += await anext(self._chunks)
        line, _, self._buffer = self._buffer.partition(b"\n")
        event: JSONObject = json.loads(line)
        return event

    async def take(self, count: int) -> list[JSONObject]:
        """So many events."""
        return [await self.next() for _ in range(count)]

    async def until(self, name: str) -> list[JSONObject]:
        """Every event up to the first of an object of this name, and that one: a mark for "nothing else came"."""
        found = [await self.next()]
        while found[-1]["object"]["metadata"].get("name") != name:
            found.append(await self.next())
        return found

    async def rest(self) -> list[JSONObject]:
        """Every event until the server ends the watch, which a ``timeoutSeconds`` makes it do."""
        found: list[JSONObject] = []
        with suppress(StopAsyncIteration):
            while True:
                found.append(await self.next())
        return found


def seen(events: list[JSONObject]) -> list[tuple[str, str]]:
    """Type and name of each event."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]
