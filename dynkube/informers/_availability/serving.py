"""Tracks whether one resource is served, without listing its objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import trio

from dynkube.informers._availability.availability import Availability, Presence, unknown
from dynkube.informers._availability.crd_summary import judge_crd
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.meta import GVR, Unstructured


class Serving:
    """Tracks whether a resource is served, by the CRD watch that informers share.

    Useful to write objects of a CRD that was just created. The resource is tracked inside the ``with`` block; its
    objects are neither listed nor watched. If the user is not allowed to watch CRDs, discovery is read every
    ``InformerSettings.discovery_poll`` seconds instead.

    Created by :meth:`InformerFactory.serving`.
    """

    def __init__(self, tracker: AvailabilityTracker, gvr: GVR) -> None:
        self._tracker = tracker
        self.gvr = gvr
        """The resource."""
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
        """Whether the resource is served; ``False`` also if that is not known yet."""
        return self._verdict.presence is Presence.PRESENT

    @property
    def known(self) -> bool:
        """Whether ``served`` is certain.

        ``False`` until CRDs or discovery were read, and while they cannot be read.
        """
        certain = self._verdict.presence is Presence.ABSENT and self._verdict.lost is None
        return self.served or certain

    @property
    def reason(self) -> str:
        """The reason as one CamelCase word; :class:`State` lists them."""
        return self._verdict.reason

    @property
    def message(self) -> str:
        """A human-readable explanation of ``reason``."""
        return self._verdict.message

    async def wait_known(self) -> None:
        """Wait until it is certain whether the resource is served.

        There is no timeout; cancellation only stops the waiting.
        """
        await self._wait(lambda: self.known)

    async def wait_served(self) -> None:
        """Wait until the resource is served.

        It may never be: put ``trio.fail_after`` around it, and read :attr:`message` for the reason. Cancellation only
        stops the waiting.
        """
        await self._wait(lambda: self.served)

    async def _wait(self, reached: Callable[[], bool]) -> None:
        while not reached():
            await self._changed.wait()
        await trio.lowlevel.checkpoint()


def crd_serves(crd: Unstructured, gvr: GVR) -> bool:
    """Return whether a CRD as read from a server is established and serves ``gvr``."""
    return judge_crd(gvr, crd).presence is Presence.PRESENT
