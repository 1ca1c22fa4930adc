"""Asks discovery about group-versions: each once at a time, many of them together, and at intervals where need be."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Protocol

import trio

from dynkube.discovery import APIDiscovery, APIResource, DiscoveryClient
from dynkube.errors import DiscoveryFailed, DynkubeError
from dynkube.informers._settings import InformerSettings
from dynkube.informers._slices import Slices
from dynkube.meta import GroupVersion
from dynkube.rest import Backoff

_FEW = 4  # group-versions that are asked for one by one; more than that, and all of discovery is read


class Asker(Protocol):
    """Who wants to know."""

    @property
    def unsighted(self) -> bool:
        """Whether CRDs cannot be seen; answers are marked with how that was when they were asked for."""
        ...

    def to_poll(self) -> Collection[GroupVersion]:
        """What is to be asked for at intervals now."""
        ...

    def concerns(self, gv: GroupVersion) -> bool:
        """Whether anybody still wants to know."""
        ...

    def answered(self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, *, blind: bool) -> None:
        """An answer came: what is served; ``None`` if the group-version itself is not."""

    def failed(self, gv: GroupVersion, exc: DynkubeError) -> None:
        """There was none; it is asked again."""


class Questions:
    """What is to be asked, and what is being asked."""

    def __init__(self, discovery: DiscoveryClient, settings: InformerSettings, asker: Asker) -> None:
        self._discovery = discovery
        self._settings = settings
        self._asker = asker
        self._wanted: set[GroupVersion] = set()  # to be asked
        self._asking: set[GroupVersion] = set()  # being asked
        self._outdated: set[GroupVersion] = set()  # of these, what has changed since
        self._ask = trio.Event()

    def want(self, gvs: Iterable[GroupVersion]) -> None:
        """Have discovery asked, unless it is being asked."""
        for gv in gvs:
            if gv not in self._asking:
                self._wanted.add(gv)
        self.look_again()

    def outdate(self, gv: GroupVersion) -> None:
        """An answer that is on its way may be from before a change: it does not count, and is asked for again."""
        if gv in self._asking:
            self._outdated.add(gv)

    def look_again(self) -> None:
        """What is to be polled may have changed."""
        self._ask.set()

    def clear(self) -> None:
        """Forget all questions: nobody wants to know any more."""
        for questions in (self._wanted, self._asking, self._outdated):
            questions.clear()

    async def run(self) -> None:
        """Ask until cancelled."""
        poll_at = math.inf
        async with trio.open_nursery() as nursery:
            while True:
                if not self._asker.to_poll():
                    poll_at = math.inf
                elif poll_at == math.inf:  # else questions in between would put it off again and again
                    poll_at = trio.current_time() + self._settings.discovery_poll
                with trio.CancelScope(deadline=poll_at) as interval:
                    await self._ask.wait()
                # Woken and stopped at once: what is wanted now is for the task that was started since.
                await trio.lowlevel.checkpoint_if_cancelled()
                if interval.cancelled_caught:
                    poll_at = math.inf
                    self.want(self._asker.to_poll())
                self._ask = trio.Event()
                wanted, self._wanted = self._wanted, set()
                self._asking |= wanted
                if len(wanted) > _FEW:
                    nursery.start_soon(self._ask_for_all, wanted, nursery)
                else:
                    for gv in wanted:
                        nursery.start_soon(self._ask_for, gv)

    async def _ask_for_all(self, wanted: set[GroupVersion], nursery: trio.Nursery) -> None:
        """One look at everything instead of a request for each."""
        blind = self._asker.unsighted
        try:
            discovery = await self._discovery.fetch()
        except DynkubeError:
            discovery = APIDiscovery(failures={"*": DiscoveryFailed("nothing could be read")})
        by_version: dict[GroupVersion, list[APIResource]] = {}
        for resource in discovery.resources:
            by_version.setdefault(resource.gvr.group_version, []).append(resource)
        slices = Slices(self._settings.cpu_clock, budget=self._settings.slice)
        for gv in wanted:
            if "*" in discovery.failures or str(gv) in discovery.failures:
                nursery.start_soon(self._ask_for, gv)  # it asks again, and remembers what goes wrong
            else:
                served = by_version.get(gv)
                self._answered(gv, None if served is None else tuple(served), blind=blind)
            await slices.breathe()

    async def _ask_for(self, gv: GroupVersion) -> None:
        """Ask for one group-version until there is an answer, or nobody wants to know."""
        backoff = Backoff(random=self._settings.random)
        while self._asker.concerns(gv):
            blind = self._asker.unsighted
            try:
                resources = await self._discovery.fetch_group_version(gv)
            except DynkubeError as exc:
                self._asker.failed(gv, exc)
                await trio.sleep(backoff.next(trio.current_time()))
            else:
                self._answered(gv, resources, blind=blind)
                return
        self._asking.discard(gv)
        self._outdated.discard(gv)

    def _answered(self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, *, blind: bool) -> None:
        self._asking.discard(gv)
        if gv in self._outdated:
            self._outdated.discard(gv)
            self.want([gv])
        else:
            self._asker.answered(gv, resources, blind=blind)
