"""The handle of a pod, for asyncio."""

from __future__ import annotations

from dynkube._portal.pods import PodFacade


class Pod(PodFacade):
    """One pod of a cluster, by name; created by :meth:`Client.pod`.

    Form of :class:`dynkube.Pod` for asyncio. It may be used any number of times, also by several tasks at once.
    """

    __slots__ = ()
