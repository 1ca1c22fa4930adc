"""Whether one resource is served, followed without asking for any of its objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import trio

from dynkube.informers._availability import Availability, Presence, unknown
from dynkube.informers._crd_summary import judge_crd
from dynkube.informers._tracker import AvailabilityTracker
from dynkube.meta import GVR, Unstructured


class Serving:
    """Tells when the server serves a resource, by the same watch on CRDs that informers have.

    For those who write objects of a CRD that was made just now. Follows it while entered (``with``); of the
    resource itself nothing is listed or watched. Where CRDs may not be watched discovery is asked at intervals
    instead, see :class:`InformerSettings`.

    Made by :meth:`InformerFactory.serving`.
    """

    def __init__(self, tracker: AvailabilityTracker, gvr: GVR) -> None:
        self._tracker = tracker
        self.gvr = gvr
        """Which resource it is."""
        self._verdict: Availability = unknown("NotFollowed", "not followed yet")
        self._changed = trio.Event()

    def __enter__(self) -> Self:
        self._tracker.follow(self.gvr, self._judged)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._tracker.unfollow(self.gvr, self._judged)

    def _judged(self, verdict: Availability) -> None:
        self._verdict = verdict
        self._changed.set()
        self._changed = trio.Event()

    @property
    def served(self) -> bool:
        """Whether it is served, as far as is known now."""
        return self._verdict.presence is Presence.PRESENT

    @property
    def known(self) -> bool:
        """Whether that is certain: ``False`` until CRDs were read, and while they cannot be."""
        return self._verdict.presence is not Presence.UNKNOWN and self._verdict.lost is None

    @property
    def reason(self) -> str:
        """Why, as one word: those of :class:`State`."""
        return self._verdict.reason

    @property
    def message(self) -> str:
        """Why, for people."""
        return self._verdict.message

    async def wait_known(self) -> None:
        """Wait until it is certain whether it is served."""
        await self._wait(lambda: self.known)

    async def wait_served(self) -> None:
        """Wait until it is served. Give it a deadline: it may never be, and :attr:`message` says why it is not."""
        await self._wait(lambda: self.served)

    async def _wait(self, reached: Callable[[], bool]) -> None:
        while not reached():
            await self._changed.wait()
        await trio.lowlevel.checkpoint()


def crd_serves(crd: Unstructured, gvr: GVR) -> bool:
    """Whether ``crd``, as a server answered with it, is established and serves ``gvr``."""
    return judge_crd(gvr, crd).presence is Presence.PRESENT
