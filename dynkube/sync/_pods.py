"""The handle of a pod, blocking."""

from __future__ import annotations

from dynkube._portal.pods import PodFacade


class Pod(PodFacade):
    """One pod of a cluster, by name; created by :meth:`Client.pod`.

    Blocking form of :class:`dynkube.Pod`. It may be used any number of times, also by several threads at once.
    """

    __slots__ = ()
