"""What the handles of a pod for all threads have in common."""

from __future__ import annotations

from dynkube import pods
from dynkube._portal.facade import Facade
from dynkube._portal.held import Start
from dynkube._portal.thread import TrioThread


class PodFacade(Facade[pods.Pod]):
    """One pod of a cluster, by name."""

    __slots__ = ("_start",)

    def __init__(self, inner: pods.Pod, thread: TrioThread, start: Start) -> None:
        super().__init__(inner, thread)
        self._start = start

    @property
    def name(self) -> str:
        """The pod's name."""
        return self._inner.name

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self._inner.namespace
