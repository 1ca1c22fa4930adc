"""Rollouts of workloads, blocking."""

from __future__ import annotations

from dynkube import workloads as aio
from dynkube._portal.facade import Facade
from dynkube.sync._delegation import blocking


class Rollout(Facade[aio.Rollout]):
    """The rollout of one workload; created by :meth:`Client.rollout`.

    Blocking form of :class:`dynkube.workloads.Rollout`. A function passed as ``on_status`` is called in the trio
    thread, so it must not make blocking calls such as those of this class.
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

    @blocking(aio.Rollout.status)
    def status(self) -> None: ...

    @blocking(aio.Rollout.wait)
    def wait(self) -> None: ...

    @blocking(aio.Rollout.history)
    def history(self) -> None: ...

    @blocking(aio.Rollout.restart)
    def restart(self) -> None: ...

    @blocking(aio.Rollout.undo)
    def undo(self) -> None: ...

    @blocking(aio.Rollout.pause)
    def pause(self) -> None: ...

    @blocking(aio.Rollout.resume)
    def resume(self) -> None: ...
