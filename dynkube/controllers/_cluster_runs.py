"""``ClusterRuns``: a controller that runs, in one cluster or several, with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import trio

from dynkube._nursery import OwnedNursery
from dynkube.controllers._controller import Controller
from dynkube.controllers._running import RunningController
from dynkube.controllers._source_feed import SourceFeed
from dynkube.controllers._status import ControllerStatus, summary_of


class ClusterRuns:
    """The runs of one controller, one for each cluster, and its sources, which are shared.

    Args:
        controller: the declaration.
        runs: by the name of the cluster; ``""`` if there is only one.
    """

    def __init__(self, controller: Controller, runs: Mapping[str, RunningController]) -> None:
        self._runs = runs
        adds = {cluster: run.enqueue for cluster, run in runs.items()}
        self._feed = SourceFeed(controller.name, controller._sources, adds, next(iter(runs.values())).slices)

    def connected(self, *, leads: bool) -> AbstractContextManager[None]:
        """Have the sources give keys to this controller during the block.

        Args:
            leads: whether it is certain that it will reconcile.
        """
        return self._feed.connected(leads=leads)

    async def follow(self) -> None:
        """Open the informers, and keep them open until cancelled."""
        async with trio.open_nursery() as nursery:
            for run in self._runs.values():
                nursery.start_soon(run.follow)

    async def work(self, state: object) -> None:
        """Reconcile, from when the informers are synced until :meth:`stop` is called and all calls have ended.

        Args:
            state: what the calls share; of the lifespan.
        """
        async with OwnedNursery() as background:
            background.start_soon(self._feed.run)
            async with trio.open_nursery() as workers:
                for run in self._runs.values():
                    workers.start_soon(run.work, state)

    def stop(self) -> None:
        """Start no more calls, and close the streams of the sources. Does not block."""
        self._feed.stop()
        for run in self._runs.values():
            run.stop()

    def status(self) -> ControllerStatus:
        """Return the status; on any thread."""
        statuses = self.statuses()
        return statuses[0] if len(statuses) == 1 else summary_of({each.cluster: each for each in statuses})

    def statuses(self) -> list[ControllerStatus]:
        """Return the status in each cluster; on any thread."""
        sources = self._feed.statuses()
        return [replace(run.status(), sources=sources) for run in self._runs.values()]
