"""``ClusterRuns``: a controller that runs, in one cluster or several, with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import trio

from dynkube._nursery import OwnedNursery
from dynkube.controllers._controller import Controller
from dynkube.controllers._running import RunningController
from dynkube.controllers._source_feed import SourceFeed
from dynkube.controllers._status import ControllerStatus


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

    async def follow(self) -> None:
        """Open the informers, and keep them open until cancelled."""
        with self._feed.connected():
            async with trio.open_nursery() as nursery:
                for run in self._runs.values():
                    nursery.start_soon(run.follow)

    async def work(self) -> None:
        """Reconcile, from when the informers are synced until :meth:`stop` is called and all calls have ended."""
        async with OwnedNursery() as background:
            background.start_soon(self._feed.run)
            async with trio.open_nursery() as workers:
                for run in self._runs.values():
                    workers.start_soon(run.work)

    def stop(self) -> None:
        """Start no more calls, and close the streams of the sources. Does not block."""
        self._feed.stop()
        for run in self._runs.values():
            run.stop()

    def status(self) -> ControllerStatus:
        """Return the status; on any thread."""
        (run,) = self._runs.values()
        return replace(run.status(), sources=self._feed.statuses())
