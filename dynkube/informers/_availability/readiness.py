"""Whether the API server has reported that it is ready: its roles, CRDs and APIServices are loaded.

An API server responds before it has loaded everything from etcd. Until then it denies what RBAC allows, and its
discovery lacks resources: answers that look like any other 403 or 404. ``/readyz`` fails as long as an informer of the
server has not synced (its check ``informer-sync``) or an API is not installed (``poststarthook/...``). All users may
read it by the role ``system:public-info-viewer``; while no role is loaded, it is denied as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import trio

from dynkube.errors import DynkubeError
from dynkube.informers._availability.availability import Doubt
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._slices import batches
from dynkube.meta import GVR
from dynkube.rest._backoff import Backoff
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

_TIMEOUT: Final = 5.0
_AT_ONCE: Final = 64  # resources
_LONGEST_PAUSE: Final = 4.0  # short, as a doubt lasts for less than a poll interval


class ServerReadiness:
    """Reads ``/readyz``; one per client.

    One of several API servers may be ready while another one, whose answers are in doubt, is not: a report is a
    second source, and no proof.

    Args:
        rest: sends the requests.
        stamp: returns the timestamp of a new request.
    """

    def __init__(self, rest: RESTClient, stamp: Callable[[], float]) -> None:
        self._rest = rest
        self.stamp: Final = stamp
        """Returns the timestamp of a new observation."""
        self._lock = trio.Lock()
        self.ready_at: float = -math.inf
        """When the newest successful report was requested; ``-inf`` before the first."""

    async def check(self, since: float) -> bool:
        """Return whether the server has reported that it is ready, by a request after ``since``.

        Sends at most one request, and none if such a report is known. Concurrent callers share it. Never raises
        because of the cluster.
        """
        async with self._lock:
            if self.ready_at <= since:
                asked = self.stamp()
                try:
                    answer = await self._rest.request(
                        Request(method="GET", path="/readyz", accept="*/*", timeout=_TIMEOUT)
                    )
                except DynkubeError:
                    return False
                if answer.body.strip() == b"ok":
                    self.ready_at = asked
        return self.ready_at > since


class ReadinessPoller:
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
