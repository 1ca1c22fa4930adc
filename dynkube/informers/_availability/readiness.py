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
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

_TIMEOUT: Final = 5.0


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
        because of the cluster: a failing report is none.
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
