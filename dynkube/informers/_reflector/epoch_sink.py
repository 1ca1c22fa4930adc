"""A sink that forwards a reflector's reports to the task that owns the cache."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from dynkube.errors import DynkubeError
from dynkube.informers._cache.inbox import Inbox
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._reflector.recovery import Recovery
from dynkube.meta import WatchEvent


class Receiver(Protocol):
    """The owner of a cache; ignores reports of all reflectors but the current one.

    Each reflector of a cache has a number, the epoch.
    """

    async def replaced(self, epoch: int, objects: Snapshot, resource_version: str, watched: bool) -> None:
        """Receive a complete list."""

    async def applied(self, epoch: int, events: list[WatchEvent]) -> None:
        """Receive watch events."""

    async def followed(self, epoch: int) -> None:
        """Receive the report that a watch is open and healthy."""

    async def failed(self, epoch: int, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Receive a failure, after which the reflector retries."""


class EpochSink:
    """The sink of the reflector with number ``epoch``."""

    def __init__(self, receiver: Receiver, inbox: Inbox, epoch: int) -> None:
        self._receiver = receiver
        self._inbox = inbox
        self._epoch = epoch

    async def replace(self, objects: Snapshot, resource_version: str, *, watched: bool) -> None:
        """Forward a list, and wait until it was processed (backpressure)."""
        await self._inbox.ask(partial(self._receiver.replaced, self._epoch, objects, resource_version, watched))

    async def apply(self, events: list[WatchEvent]) -> None:
        """Forward events, and wait until they were processed (backpressure)."""
        await self._inbox.ask(partial(self._receiver.applied, self._epoch, events))

    def following(self) -> None:
        """Forward that a watch is open and healthy, without waiting."""
        self._inbox.post(partial(self._receiver.followed, self._epoch))

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Forward a failure, without waiting."""
        self._inbox.post(partial(self._receiver.failed, self._epoch, exc, streak, recovery))
