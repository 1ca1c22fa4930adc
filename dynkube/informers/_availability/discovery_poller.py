"""Reads discovery of group-versions: once, at a time, at intervals, and with backoff.

A group-version without version stands for each resource of the group in the version that the server prefers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Protocol

import trio

from dynkube.discovery import APIDiscovery, APIResource, DiscoveryClient
from dynkube.discovery._resources import EVERYTHING
from dynkube.errors import DiscoveryFailed, DynkubeError
from dynkube.informers._settings import InjectedSettings
from dynkube.meta import GroupVersion
from dynkube.rest._backoff import Backoff

_FEW: Final = 4  # up to 4 group-versions are read one by one; for more, all of discovery is read


class DiscoveryListener(Protocol):
    """The receiver of a :class:`DiscoveryPoller`'s responses."""

    @property
    def crds_followed(self) -> bool:
        """Whether CRDs are being watched.

        Read at each request, and passed to :meth:`answered` with its response.
        """
        ...

    def to_poll(self) -> Collection[GroupVersion]:
        """Return the group-versions to read at intervals now."""
        ...

    def awaits(self, gv: GroupVersion) -> bool:
        """Return whether a planned read of ``gv`` is still needed."""
        ...

    def concerns(self, gv: GroupVersion) -> bool:
        """Return whether the availability of any resource of ``gv`` is still needed."""
        ...

    def answered(
        self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, *, asked: float, crds_followed: bool
    ) -> None:
        """Receive a response of discovery.

        Args:
            gv: the group-version.
            resources: its resources; ``None`` if the group-version is not served.
            asked: timestamp of the request.
            crds_followed: the value of ``crds_followed`` at the request.
        """

    def failed(self, gv: GroupVersion, exc: DynkubeError) -> None:
        """Receive a failure; the read will be retried."""


class DiscoveryPoller:
    """Reads the discovery of requested group-versions, and retries failed reads.

    Each group-version has its own backoff, so an aggregated API that is down does not delay others. Retries that are
    due soon are made together: while all of discovery is down, any number of group-versions cost one attempt.

    Args:
        discovery: the client.
        settings: the interval.
        listener: the receiver of responses.
        stamp: returns the timestamp of a new request.
    """

    def __init__(
        self,
        discovery: DiscoveryClient,
        settings: InjectedSettings,
        listener: DiscoveryListener,
        stamp: Callable[[], float],
    ) -> None:
        self._stamp = stamp
        self._discovery = discovery
        self._settings = settings
        self._listener = listener
        self._due: dict[GroupVersion, tuple[float, float]] = {}  # to be read: (not before, at the latest)
        self._planned: dict[GroupVersion, float] = {}  # to be read at a time, whether or not they are read before
        self._reading: set[GroupVersion] = set()
        self._again: set[GroupVersion] = set()  # requested again since the read began
        self._backoffs: dict[GroupVersion, Backoff] = {}
        self._wake = trio.Event()

    def want(self, gvs: Iterable[GroupVersion], *, anew: bool = False) -> None:
        """Request group-versions: they are read now, or when their backoff ends.

        Args:
            gvs: the group-versions.
            anew: whether the group-versions may have changed. If so, a read in progress is repeated afterwards, as its
                response may be outdated, and backoffs end at once.
        """
        for gv in gvs:
            if gv in self._reading:
                if anew:
                    self._again.add(gv)
            elif anew or gv not in self._due:
                self._due[gv] = (-math.inf, -math.inf)
        self.look_again()

    def plan(self, gv: GroupVersion, at: float) -> None:
        """Request a group-version at a time, or earlier if it is planned already.

        A read that is in progress at that time, or a backoff, is enough.
        """
        if at < self._planned.get(gv, math.inf):
            self._planned[gv] = at
            self.look_again()

    def look_again(self) -> None:
        """Evaluate ``listener.to_poll()`` again, as its result may have changed."""
        self._wake.set()

    def clear(self) -> None:
        """Forget all requests."""
        for known in (self._due, self._planned, self._reading, self._again, self._backoffs):
            known.clear()

    async def run(self) -> None:
        """Read requested group-versions until cancelled."""
        poll_at = math.inf
        async with trio.open_nursery() as nursery:
            while True:
                if not self._listener.to_poll():
                    poll_at = math.inf
                elif poll_at == math.inf:  # keep an earlier time, which each wake-up would postpone otherwise
                    poll_at = trio.current_time() + self._settings.discovery_poll
                retry_at = min((latest for _, latest in self._due.values()), default=math.inf)
                planned_at = min(self._planned.values(), default=math.inf)
                with trio.move_on_at(min(retry_at, poll_at, planned_at)):
                    await self._wake.wait()
                # If this task was both woken and cancelled, leave the requests to the task that replaces it.
                await trio.lowlevel.checkpoint_if_cancelled()
                now = trio.current_time()
                if now >= poll_at:
                    poll_at = math.inf
                    self.want(self._listener.to_poll())
                self.want(self._take_planned(now))
                self._wake = trio.Event()
                self._begin(self._take_due(now), nursery)

    def _take_planned(self, now: float) -> list[GroupVersion]:
        planned = [gv for gv, at in self._planned.items() if at <= now]
        for gv in planned:
            del self._planned[gv]
        return [gv for gv in planned if self._listener.awaits(gv)]

    def _take_due(self, now: float) -> set[GroupVersion]:
        if not any(latest <= now for _, latest in self._due.values()):
            return set()
        wanted = {gv for gv, (earliest, _) in self._due.items() if earliest <= now}
        for gv in wanted:
            del self._due[gv]
            if not self._listener.concerns(gv):
                self._backoffs.pop(gv, None)
        return {gv for gv in wanted if self._listener.concerns(gv)}

    def _begin(self, wanted: set[GroupVersion], nursery: trio.Nursery) -> None:
        self._reading |= wanted
        if len(wanted) > _FEW:
            nursery.start_soon(self._read_all, wanted)
        else:
            for gv in wanted:
                nursery.start_soon(self._read, gv)

    async def _read_all(self, wanted: set[GroupVersion]) -> None:
        """Read all of discovery instead of each group-version."""
        asked, followed = self._stamp(), self._listener.crds_followed
        try:
            discovery = await self._discovery.fetch()
        except DynkubeError as exc:
            discovery = APIDiscovery(failures={"*": exc, "v1": exc})
        resources, failures = _by_version(discovery)
        for gv in wanted:
            failure = failures.get(gv) or (discovery.failures.get(EVERYTHING) if gv.group else None)
            if failure is not None:
                self._failed(gv, failure)
            else:
                self._answered(gv, resources.get(gv), asked, followed)
            await trio.lowlevel.checkpoint()  # each verdict wakes an informer

    async def _read(self, gv: GroupVersion) -> None:
        asked, followed = self._stamp(), self._listener.crds_followed
        try:
            resources = await self._fetch(gv)
        except DynkubeError as exc:
            self._failed(gv, exc)
        else:
            self._answered(gv, resources, asked, followed)

    async def _fetch(self, gv: GroupVersion) -> tuple[APIResource, ...] | None:
        """Read one group-version; ``None`` if it is not served."""
        if gv.version:
            return await self._discovery.fetch_group_version(gv)
        resources, failures = _by_version(await self._discovery.fetch_group(gv.group))
        if failure := failures.get(gv):
            raise failure
        return resources.get(gv)

    def _failed(self, gv: GroupVersion, failure: Exception) -> None:
        self._reading.discard(gv)
        self._again.discard(gv)
        if not self._listener.concerns(gv):
            self._backoffs.pop(gv, None)
            return
        now = trio.current_time()
        backoff = self._backoffs.get(gv) or self._backoffs.setdefault(gv, Backoff(random=self._settings.random))
        delay = backoff.next(now)
        self._due[gv] = (now + delay / 2, now + delay)
        self.look_again()
        error = failure if isinstance(failure, DynkubeError) else DiscoveryFailed(str(failure))
        self._listener.failed(gv, error)

    def _answered(
        self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, asked: float, crds_followed: bool
    ) -> None:
        self._reading.discard(gv)
        self._backoffs.pop(gv, None)
        if gv in self._again:
            self._again.discard(gv)
            self.want([gv])
        self._listener.answered(gv, resources, asked=asked, crds_followed=crds_followed)


def _by_version(
    discovery: APIDiscovery,
) -> tuple[Mapping[GroupVersion, tuple[APIResource, ...]], Mapping[GroupVersion, Exception]]:
    """Return the resources and the failures of each group-version, and of each group without a version.

    The resources of a group are those of the version that is preferred for each; its failure is that of any version.
    """
    resources: dict[GroupVersion, dict[str, APIResource]] = {}
    for resource in discovery.resources:  # of each group the preferred version first
        for gv in (resource.gvr.group_version, GroupVersion(resource.gvr.group, "")):
            resources.setdefault(gv, {}).setdefault(resource.gvr.resource, resource)
    failures: dict[GroupVersion, Exception] = {}
    for failed, error in discovery.failures.items():
        if failed != EVERYTHING:
            gv = GroupVersion.parse(failed)
            failures |= {gv: error, GroupVersion(gv.group, ""): error}
    return {gv: tuple(served.values()) for gv, served in resources.items()}, failures
