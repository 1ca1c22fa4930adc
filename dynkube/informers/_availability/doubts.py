"""Reads whether the API server is ready while a resource is missing in discovery, and that is not confirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from dynkube.informers._availability.availability import Doubt
from dynkube.informers._availability.readiness import ServerReadiness
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._slices import batches
from dynkube.meta import GVR
from dynkube.rest._backoff import Backoff

_AT_ONCE: Final = 64  # resources
_LONGEST_PAUSE: Final = 4.0  # short, as a doubt lasts for less than a poll interval


class Doubts:
    """The resources whose absence a report of the API server's readiness would confirm sooner.

    One report serves any number of them; without any, no request is sent.

    Args:
        readiness: reads the reports.
        settings: the source of jitter.
        on_ready: called with some of the resources, and when the report about them was requested.
    """

    def __init__(
        self, readiness: ServerReadiness, settings: InjectedSettings, on_ready: Callable[[list[GVR], float], None]
    ) -> None:
        self._readiness = readiness
        self._settings = settings
        self._on_ready = on_ready
        self._since: dict[GVR, float] = {}
        self._noted = trio.Event()

    def note(self, gvr: GVR, doubt: Doubt | None) -> None:
        """Record the newest doubt about a resource."""
        if doubt is not None and doubt.awaits_ready:
            self._since[gvr] = doubt.since
            self._noted.set()
        else:
            self._since.pop(gvr, None)

    def clear(self) -> None:
        """Forget all resources."""
        self._since.clear()

    async def run(self) -> None:
        """Read reports as long as they are needed, until cancelled."""
        backoff = Backoff(cap=_LONGEST_PAUSE / 2, random=self._settings.random)
        while True:
            if not self._since:
                self._noted = trio.Event()
                await self._noted.wait()
            elif await self._readiness.check(max(self._since.values())):
                ready_at = self._readiness.ready_at
                for some in batches([gvr for gvr, since in self._since.items() if since < ready_at], _AT_ONCE):
                    self._on_ready([gvr for gvr in some if gvr in self._since], ready_at)
                    await trio.lowlevel.checkpoint()
            else:
                await trio.sleep(backoff.next(trio.current_time()))
