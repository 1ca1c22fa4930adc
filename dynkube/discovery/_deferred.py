"""``DeferredRESTMapper``: a mapper that loads discovery on first use.

It reads discovery again before it raises NoMatch. Guarantees: a known name causes no request; an unknown name causes
one read, and no further read within a few seconds; concurrent callers share one read. After a failed read the known
resources are kept, and unknown names raise DiscoveryFailed, never NoMatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.discovery._client import DiscoveryClient
from dynkube.discovery._lookup import Lookup, ResourceLike
from dynkube.discovery._mapper import RESTMapper
from dynkube.discovery._resources import EVERYTHING, APIDiscovery, APIResource
from dynkube.discovery._suggestions import no_match
from dynkube.errors import ClosedError, DiscoveryFailed, DynkubeError, InvalidInput, MappingError, NoMatch
from dynkube.meta import GroupVersion

_log = get_logger("dynkube.discovery")

_LOGGED: Final = 20  # group-versions that are logged individually when they fail together


@dataclass(frozen=True, slots=True, kw_only=True)
class MapperStatistics:
    """A snapshot of a mapper's counters and state.

    Attributes:
        resources: number of known resources.
        loads: full reads.
        refreshes: reads of one group, or one version of it.
        misses: lookups that failed after discovery was read again.
        failures: reads that failed, completely or in part.
        stale: groups (``""`` for core, ``"*"`` for all) that were invalidated and are read before their next lookup.
        unreadable: group-versions that failed in the last read; their previously known resources are still used.
        last_error: the last error message; ``""`` if there was none.
        age: seconds since the last full read; ``None`` if there was none.
    """

    resources: int
    loads: int
    refreshes: int
    misses: int
    failures: int
    stale: frozenset[str]
    unreadable: frozenset[str]
    last_error: str
    age: float | None


@dataclass(slots=True)
class _Counters:
    loads: int = 0
    refreshes: int = 0
    misses: int = 0
    failures: int = 0
    last_error: str = ""
    loaded_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Miss:
    """A failed lookup, cached until ``until``.

    ``certain`` tells whether the group-version of the name was read, so that other failures do not matter.
    """

    until: float
    certain: bool


class DeferredRESTMapper(Bound):
    """Maps names to resources, reading discovery when needed.

    It has no task of its own: the first caller reads, under a lock, and waiting callers use the result. If the reader
    is cancelled, the next waiter reads.

    Args:
        discovery: the client that reads discovery documents.
        negative_ttl: seconds for which a failed lookup, or an operation rejected by cached discovery, causes no other
            read.
        clock: the time in seconds; trio's clock unless replaced in tests.
    """

    def __init__(
        self,
        discovery: DiscoveryClient,
        *,
        negative_ttl: float = 5.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._discovery = discovery
        self._ttl = negative_ttl
        self._given_clock = clock
        self._clock = clock or trio.current_time
        self._counters = _Counters()
        self._lock = trio.Lock()
        self._mapper: RESTMapper | None = None
        # Invalidated groups (or "*") with the number of their last invalidation. A read clears only those from before
        # it began.
        self._stale: dict[str, int] = {}
        self._invalidations = 0
        self._retry_at = float("-inf")
        # Full reads are numbered as they begin; a lookup accepts one that began after it.
        self._begun = 0
        self._ended = 0
        self._failed_loads = 0
        self._load_failure: DiscoveryFailed | None = None
        self._misses: dict[Lookup, _Miss] = {}
        self._rechecked: dict[str, float] = {}  # until when a group is not read again by recheck()

    @property
    def loaded(self) -> RESTMapper | None:
        """The mapper as last read, possibly outdated; ``None`` before the first load."""
        return self._mapper

    def may_be_outdated(self, arg: ResourceLike) -> bool:
        """Return whether a group that ``arg`` may belong to was invalidated since it was last read. Does no I/O.

        Args:
            arg: a name of a resource.

        Raises:
            InvalidInput: not a valid name of a resource.
        """
        lookup = Lookup.of(arg)
        return any(group == EVERYTHING or lookup.may_concern(group) for group in tuple(self._stale))

    def invalidate(self, group: str | None = None) -> None:
        """Mark ``group`` (``""`` for core), or with ``None`` everything, as outdated.

        Does no I/O: the next lookup in the group (or any lookup) reads it again first. Any number of calls before that
        cause one read.
        """
        self._invalidations += 1
        self._stale[EVERYTHING if group is None else group] = self._invalidations
        self._retry_at = float("-inf")

    def doubt(self, arg: ResourceLike) -> None:
        """Invalidate the group of ``arg``.

        Invalidates all groups if ``arg`` has no complete group name.
        """
        self.invalidate(Lookup.of(arg).whole_group)

    def recheck(self, arg: ResourceLike, *, at_once: bool = False) -> None:
        """Mark a resource as outdated after cached discovery rejected an operation, or the server a request.

        Its group is read before the next lookup of the resource, but at most once in ``negative_ttl`` seconds, so that
        repeated rejections do not cause repeated reads. Does no I/O.

        Args:
            arg: a name of the resource.
            at_once: whether to read it in any case. For error responses, each of which costs a request anyway.
        """
        try:
            group = self._known().resource_for(arg).gvr.group
        except MappingError:  # it was read meanwhile, and the next lookup uses that
            if at_once:
                self._misses.pop(Lookup.of(arg), None)
            return
        now = self._clock()
        self._rechecked = {key: until for key, until in self._rechecked.items() if until > now}
        if at_once or group not in self._rechecked:
            self._rechecked[group] = now + self._ttl
            self.invalidate(group)

    def statistics(self) -> MapperStatistics:
        """Return a snapshot of counters and state. Thread-safe."""
        counters, mapper = self._counters, self._mapper
        discovery = APIDiscovery() if mapper is None else mapper.discovery
        return MapperStatistics(
            resources=len(discovery.resources),
            loads=counters.loads,
            refreshes=counters.refreshes,
            misses=counters.misses,
            failures=counters.failures,
            stale=frozenset(tuple(self._stale)),
            unreadable=frozenset(discovery.failures),
            last_error=counters.last_error,
            age=None if counters.loaded_at is None else self._clock() - counters.loaded_at,
        )

    async def load(self) -> RESTMapper:
        """Return the mapper; reads discovery if it was never read, or was invalidated.

        Raises:
            DiscoveryFailed: no read has succeeded yet; ``failures`` has the reasons.
        """
        return await self._up_to_date(None)

    async def resolve(self, arg: ResourceLike) -> APIResource:
        """Return the one resource that ``arg`` names.

        Loads on first use. If ``arg`` is not found, discovery is read again, once: its group-version if ``arg`` names
        one, else everything. Cancellation does not affect other callers that wait for the same read.

        Args:
            arg: a name in kubectl's notation (``"po"``, ``"Deployment"``, ``"ingresses.networking"``,
                ``"deployments.v1.apps"``), a :class:`GVR` or a :class:`GVK`.

        Raises:
            NoMatch: the server does not serve it.
            DiscoveryFailed: not found, but discovery failed for a group that may have it; ``failures`` has the reasons.
            AmbiguousMatch: several resources match equally well.
            InvalidInput: not a valid name of a resource.
        """
        lookup = Lookup.of(arg)
        asked = self._begun
        seen = await self._up_to_date(lookup)
        try:
            return self._answer(arg, lookup)
        except (NoMatch, DiscoveryFailed):
            if self._recent_miss(lookup) is not None:
                raise
        return await self._look_again(arg, lookup, asked, seen)

    async def _up_to_date(self, lookup: Lookup | None) -> RESTMapper:
        if self._mapper is not None and not self._due(lookup):
            await trio.lowlevel.checkpoint()
            return self._mapper
        failed_loads = self._failed_loads
        async with self._lock:
            if self._mapper is None and self._failed_loads != failed_loads and self._load_failure is not None:
                # The load that this caller waited for failed; another one now would make all waiters queue for it.
                shared = self._load_failure
                raise DiscoveryFailed(str(shared), failures=shared.failures) from shared.__cause__
            if self._mapper is None:
                return await self._read_everything()
            if due := self._due(lookup):
                return await (self._read_group(due.pop()) if len(due) == 1 else self._read_everything())
            return self._mapper

    def _due(self, lookup: Lookup | None) -> set[str]:
        """Return the groups (or ``*``) that must be read before ``lookup`` is resolved.

        ``None`` stands for any lookup.
        """
        if self._clock() < self._retry_at:
            return set()
        return {g for g in self._stale if lookup is None or g == EVERYTHING or lookup.may_concern(g)}

    async def _look_again(self, arg: ResourceLike, lookup: Lookup, asked: int, seen: RESTMapper) -> APIResource:
        async with self._lock:
            certain = False
            # Another caller may have read while this one waited.
            if self._mapper is not seen:
                with suppress(NoMatch, DiscoveryFailed):
                    return self._answer(arg, lookup)
            if self._ended <= asked and self._recent_miss(lookup) is None:
                if lookup.group_version is None:
                    await self._read_everything()
                else:
                    certain = await self._read_group_version(lookup.group_version)
            try:
                return self._answer(arg, lookup, certain=certain)
            except (NoMatch, DiscoveryFailed):
                if self._recent_miss(lookup) is None:
                    self._remember_miss(lookup, certain)
                raise

    def _answer(self, arg: ResourceLike, lookup: Lookup, *, certain: bool = False) -> APIResource:
        try:
            return self._known().resource_for(arg)
        except DiscoveryFailed:
            miss = self._recent_miss(lookup)
            if not certain and (miss is None or not miss.certain):
                raise
        # A group that might have it failed, but its own group-version was read.
        raise NoMatch(no_match(lookup, self._known().discovery))

    async def _read_everything(self) -> RESTMapper:
        self._begun += 1
        self._counters.loads += 1
        if self._given_clock is None:
            # the same clock, but usable by statistics() in any thread
            self._clock = trio.lowlevel.current_clock().current_time
        number, invalidations = self._begun, self._invalidations
        last_known = None if self._mapper is None else self._mapper.discovery
        try:
            snapshot = await self._discovery.fetch(last_known=last_known)
        except DiscoveryFailed as failure:
            self._failed_loads += 1
            self._load_failure = failure
            self._failed(failure)
            raise
        self._ended = number
        if EVERYTHING in snapshot.failures:
            self._retry_at = self._clock() + self._ttl
        else:
            self._counters.loaded_at = self._clock()
            self._settle(invalidations)
        return self._publish(snapshot)

    async def _read_group(self, group: str) -> RESTMapper:
        known = self._known().discovery
        if EVERYTHING in {group, *known.failures}:  # a failed list of groups is read again with any of them
            return await self._read_everything()
        invalidations = self._invalidations
        self._counters.refreshes += 1
        try:
            part = await self._discovery.fetch_group(group, last_known=known)
        except ClosedError:
            raise
        except DynkubeError:
            # A full read may still succeed; if not, its result says what failed.
            return await self._read_everything()
        self._settle(invalidations, group)
        return self._publish(known.with_group(group, part))

    async def _read_group_version(self, gv: GroupVersion) -> bool:
        """Read one group-version; return whether that succeeded."""
        known = self._known().discovery
        self._counters.refreshes += 1
        try:
            resources = await self._discovery.fetch_group_version(gv)
        except (ClosedError, InvalidInput):
            raise
        except DynkubeError as error:
            self._publish(known.with_failure(gv, error))
            return False
        self._publish(known.with_group_version(gv, resources))
        return True

    def _settle(self, invalidations: int, group: str | None = None) -> None:
        """Clear the invalidations up to that number, of one group or of all."""
        for key, number in list(self._stale.items()):
            if number <= invalidations and group in (None, key):
                del self._stale[key]

    def _publish(self, snapshot: APIDiscovery) -> RESTMapper:
        before = {} if self._mapper is None else self._mapper.discovery.failures
        self._log_changes(before, snapshot.failures)
        if self._mapper is None or self._mapper.discovery != snapshot:
            self._mapper = RESTMapper(snapshot)
        return self._mapper

    def _log_changes(self, before: Mapping[str, Exception], now: Mapping[str, Exception]) -> None:
        """Log each group-version whose discovery begins to fail, and each that recovers."""
        for error in now.values():
            self._failed(error)
        lost, found = sorted(now.keys() - before.keys()), sorted(before.keys() - now.keys())
        for gv in lost[:_LOGGED]:
            _log.warning(
                "discovery of %s failed, using the previous result: %s", gv, now[gv], extra={"group_version": gv}
            )
        for gv in found[:_LOGGED]:
            _log.info("discovery of %s recovered", gv, extra={"group_version": gv})
        if len(lost) > _LOGGED:
            _log.warning("discovery of %d more group-versions failed", len(lost) - _LOGGED)
        if len(found) > _LOGGED:
            _log.info("discovery of %d more group-versions recovered", len(found) - _LOGGED)

    def _failed(self, error: Exception) -> None:
        self._counters.failures += 1
        self._counters.last_error = sanitized(f"{type(error).__name__}: {error}")

    def _known(self) -> RESTMapper:
        assert self._mapper is not None, "the mapper was never loaded"
        return self._mapper

    def _recent_miss(self, lookup: Lookup) -> _Miss | None:
        miss = self._misses.get(lookup)
        return miss if miss is not None and self._clock() < miss.until else None

    def _remember_miss(self, lookup: Lookup, certain: bool) -> None:
        now = self._clock()
        self._counters.misses += 1
        self._misses = {key: miss for key, miss in self._misses.items() if miss.until > now}
        self._misses[lookup] = _Miss(now + self._ttl, certain)
