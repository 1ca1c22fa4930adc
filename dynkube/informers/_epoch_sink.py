"""What one reflector reports, as messages to the task that owns the cache, marked with which reflector it was."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from dynkube.errors import DynkubeError
from dynkube.informers._inbox import Inbox
from dynkube.informers._recovery import Recovery
from dynkube.meta import Key, Unstructured, WatchEvent


class Receiver(Protocol):
    """The owner of a cache. It ignores what comes from another reflector than its present one."""

    async def replaced(
        self, epoch: int, objects: dict[Key, Unstructured], resource_version: str, watched: bool
    ) -> None:
        """A complete list came."""

    async def applied(self, epoch: int, events: list[WatchEvent]) -> None:
        """Changes came."""

    async def followed(self, epoch: int) -> None:
        """A watch is open and healthy."""

    async def failed(self, epoch: int, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """The reflector failed and will try again."""


class EpochSink:
    """The sink of a reflector whose number is ``epoch``."""

    def __init__(self, receiver: Receiver, inbox: Inbox, epoch: int) -> None:
        self._receiver = receiver
        self._inbox = inbox
        self._epoch = epoch

    async def replace(self, objects: dict[Key, Unstructured], resource_version: str, *, watched: bool) -> None:
        """Wait for the owner, so that a fast server cannot fill the memory."""
        await self._inbox.ask(partial(self._receiver.replaced, self._epoch, objects, resource_version, watched))

    async def apply(self, events: list[WatchEvent]) -> None:
        """As ``replace``."""
        await self._inbox.ask(partial(self._receiver.applied, self._epoch, events))

    def following(self) -> None:
        """Pass on."""
        self._inbox.post(partial(self._receiver.followed, self._epoch))

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Pass on."""
        self._inbox.post(partial(self._receiver.failed, self._epoch, exc, streak, recovery))
