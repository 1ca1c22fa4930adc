"""Rollouts of workloads, for asyncio."""

from __future__ import annotations

from dynkube import workloads as in_trio
from dynkube._portal.facade import Facade
from dynkube.aio._callbacks import calling_back
from dynkube.aio._delegation import awaiting


class Rollout(Facade[in_trio.Rollout]):
    """The rollout of one workload; created by :meth:`Client.rollout`.

    Form of :class:`dynkube.workloads.Rollout` for asyncio. Functions passed as ``on_status`` are called in the loop.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the workload."""
        return self._inner.name

    @property
    def namespace(self) -> str | None:
        """The namespace that was given; ``None`` means the context's."""
        return self._inner.namespace

    @awaiting(in_trio.Rollout.status)
    def status(self) -> None: ...

    @calling_back(in_trio.Rollout.wait, "on_status")
    def wait(self) -> None: ...

    @awaiting(in_trio.Rollout.history)
    def history(self) -> None: ...

    @awaiting(in_trio.Rollout.restart)
    def restart(self) -> None: ...

    @awaiting(in_trio.Rollout.undo)
    def undo(self) -> None: ...

    @awaiting(in_trio.Rollout.pause)
    def pause(self) -> None: ...

    @awaiting(in_trio.Rollout.resume)
    def resume(self) -> None: ...
