"""The parts of the cache of a set of namespaces: one list and watch for each namespace that may be listed.

=============  ==============================================  =================================================
a namespace    event                                           then
=============  ==============================================  =================================================
not selected   selected                                        listed; waiting if too many are being watched
listed         not selected any more                           removed, with its objects
listed         a list or a review is refused                   the same, and examined: its objects stay
listed         ... and that is DENIED                          forbidden, and its objects are removed
forbidden      it is ALLOWED                                   listed; waiting if too many are being watched
forbidden      reviews are forbidden as well                   listed, if there is room; it counts as forbidden
                                                               until that has succeeded
waiting        fewer are being watched                         listed
waiting        a review is refused, and that is DENIED         forbidden
=============  ==============================================  =================================================

``rights.py`` decides what is ALLOWED and DENIED. What it leaves undecided changes nothing, and does not count as known.
A watch does not end when the right to it is lost. So rights are reviewed at intervals, also those that exist. Where
only watching is forbidden, objects are listed at intervals, as by any informer; where only listing is, they are read by
streaming lists.

There may be thousands of namespaces, most of them forbidden. So no event costs more than the namespaces that are being
watched, of which there are a few hundred at most, except a change of the set.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, Protocol

import trio

from dynkube.errors import DynkubeError
from dynkube.errors._evidence import Evidence, evidence_of
from dynkube.informers._availability.readiness import ServerReadiness
from dynkube.informers._availability.rights import Right, Rights, judge_rights
from dynkube.informers._parts.access_reviews import AccessReviews, Doubts
from dynkube.informers._parts.part import Owner, Part
from dynkube.informers._reflector.counters import ReflectorStatistics
from dynkube.informers._states import Phase, State, next_state
from dynkube.informers._statistics import NamespaceStatus
from dynkube.informers._summary import Summary
from dynkube.meta._versions import is_older

NAMESPACES_PENDING: Final = "NamespacesPending"
_NOTHING: Final = Rights()


class SelectedNames(Protocol):
    """The names of a set of namespaces, kept up to date."""

    @property
    def names(self) -> frozenset[str] | None:
        """The names; ``None`` before they are known."""
        ...

    @property
    def pending(self) -> str:
        """The reason why they are not known yet, or not up to date; ``""`` if they are."""
        ...

    def close(self) -> None:
        """Stop following."""
        ...


class SetOwner(Owner, Protocol):
    """The owner of a cache of a set of namespaces."""

    def run_beside(self, task: AccessReviews) -> trio.CancelScope:
        """Start a task that lives as long as the cache at most; return the scope that ends it."""
        ...

    async def settle(self) -> None:
        """Mark what subscribers were offered as the initial list, if the content of the cache is complete."""
        ...


class NamespaceParts:
    """The parts of a cache of a set of namespaces.

    Args:
        owner: the owner of the cache, in whose task everything here runs, unless it says otherwise.
        follow: starts to follow the names; it is given what to call when they change.
        reviews: creates the task that reviews the user's rights; it is given these parts.
        most: the number of namespaces that are watched at the same time.
        readiness: whether the API server is ready.
        stamp: returns the timestamp of an observation.
    """

    def __init__(
        self,
        owner: SetOwner,
        follow: Callable[[Callable[[], None]], SelectedNames],
        reviews: Callable[[NamespaceParts], AccessReviews],
        most: int,
        readiness: ServerReadiness,
        stamp: Callable[[], float],
    ) -> None:
        self._owner = owner
        self._follow = follow
        self._reviews = reviews
        self._most = most
        self._readiness = readiness
        self._stamp = stamp
        self._selected: SelectedNames | None = None
        self._reviewing: trio.CancelScope | None = None
        self._names: frozenset[str] = frozenset()  # each of them is in one of the next three
        self._parts: dict[str, Part] = {}  # being watched; of the forbidden ones those that are being tried
        self._forbidden: dict[str, State] = {}
        self._waiting: list[str] = []  # sorted
        self._shown: list[str] = []  # the forbidden names, sorted
        self._trials: list[str] = []  # forbidden names that are to be tried now, if there is room
        self._untried: list[str] = []  # and later
        self._rights: dict[str, Rights] = {}  # of the names that were listed, refused or reviewed
        self._refused: set[str] = set()  # names that were refused since their last complete list
        self._unjudged: set[str] = set()  # names of which something new was observed
        self.doubts: Doubts = Doubts()
        """The namespaces to examine."""
        self._first = True  # whether nothing was listed yet, so that a list from a watch cache is recent enough
        self._posted = False
        self._ended = ReflectorStatistics()  # the sum of the parts that have ended
        too_many = f"not watched, as InformerSettings.max_namespaces is {most}"
        self._too_many: Final = State(Phase.DEGRADED, "TooManyNamespaces", too_many)
        self._queued: Final = State(Phase.SYNCING, "Listing", "waits until others were listed")

    def __iter__(self) -> Iterator[Part]:
        return iter(tuple(self._parts.values()))

    # ── reports; statuses() may be called from any thread ────────────────────────────────────

    @property
    def state(self) -> State:
        """The state of all together; see ``_summary.py``."""
        selected = self._selected
        pending = selected.pending if selected is not None else ""
        if selected is None or selected.names is None:
            return State(Phase.SYNCING, NAMESPACES_PENDING, f"the set of namespaces is not known yet: {pending}")
        if pending:
            return State(Phase.DEGRADED, NAMESPACES_PENDING, f"the set of namespaces is not up to date: {pending}")
        summary = Summary("namespaces", len(self._names), "no namespace is selected", "forbidden")
        for name, part in self._parts.items():
            if name not in self._forbidden:
                summary.add(name, part.state)
        if self._waiting:
            summary.add_all(self._waiting, self._waiting_state)
        if self._shown:
            summary.add_all(self._shown, self._forbidden[self._shown[0]])
        return summary.state

    @property
    def _waiting_state(self) -> State:
        """Too many are reported once it is known that those being watched may be listed."""
        listing = any(part.state.phase is Phase.SYNCING for part in tuple(self._parts.values()))
        return self._queued if listing else self._too_many

    def statuses(self) -> dict[str, NamespaceStatus]:
        """Return the status of each namespace, by name."""
        parts, forbidden = dict(self._parts), dict(self._forbidden)
        found = {
            name: NamespaceStatus(state=part.state, has_synced=part.known, objects=len(part.cache.snapshot))
            for name, part in parts.items()
        }
        waiting = dict.fromkeys(tuple(self._waiting), self._waiting_state)
        for name, state in chain(forbidden.items(), waiting.items()):
            if name not in parts or not parts[name].known:
                found[name] = NamespaceStatus(state=state, has_synced=name in forbidden, objects=0)
        return found

    @property
    def statistics(self) -> ReflectorStatistics:
        """The sum of all parts; the last activity is that of the part that has been silent for longest."""
        return ReflectorStatistics.total([self._ended, *(part.statistics for part in tuple(self._parts.values()))])

    @property
    def resource_version(self) -> str:
        """The oldest of the parts; ``""`` if none was listed."""
        oldest = ""
        for part in tuple(self._parts.values()):
            version = part.cache.resource_version
            if version and (not oldest or is_older(version, oldest)):
                oldest = version
        return oldest

    @property
    def known(self) -> bool:
        """Whether the set is known, and each of its namespaces was listed or is forbidden."""
        selected = self._selected
        if selected is None or self._waiting or selected.names != self._names:
            return False
        return all(part.known or name in self._forbidden for name, part in self._parts.items())

    def version_of(self, namespace: str) -> str | None:
        """Return the resourceVersion up to which a namespace is known; ``None`` if it is forbidden."""
        part = self._parts.get(namespace)
        if namespace in self._forbidden and (part is None or not part.known):
            return None
        return part.cache.resource_version if part is not None else ""

    def lacks(self, namespace: str) -> bool:
        """Return whether a namespace is known not to be in the set."""
        names = self._selected.names if self._selected is not None else None
        return names is not None and namespace not in names

    # ── the resource comes and goes ──────────────────────────────────────────────────────────

    def start(self) -> None:
        """Follow the set, and list each of its namespaces, again if that was done before."""
        for part in self._parts.values():
            part.start(consistent=True)
        self._trials = list(self._forbidden)
        for name in self._rights:
            if self.in_doubt(name) is not None:
                self.doubts.add(name, trio.current_time())
        if self._selected is None:
            self._selected = self._follow(self._changed)
        if self._reviewing is None:
            self._reviewing = self._owner.run_beside(self._reviews(self))
        self._changed()

    def stop(self) -> None:
        """End all lists and watches, and stop to follow the set. The objects stay."""
        for part in self._parts.values():
            part.stop()
        if self._selected is not None:
            self._selected.close()
            self._selected = None
        if self._reviewing is not None:
            self._reviewing.cancel()
            self._reviewing = None

    def clear(self) -> None:
        """Drop all parts, with their objects."""
        for part in self._parts.values():
            self._add_to_ended(part)
        self._names = frozenset()
        for collection in (self._parts, self._forbidden, self._rights, self._refused, self._unjudged, self.doubts):
            collection.clear()
        for names in (self._waiting, self._shown, self._trials, self._untried):
            names.clear()

    # ── events, which are followed up together ───────────────────────────────────────────────

    def state_changed(self) -> None:
        """Handle that the state of a part has changed."""
        self._changed()

    def listed(self, part: Part) -> None:
        """Handle that a complete list of a part was published."""
        name = part.namespace or ""
        self._refused.discard(name)
        self._rights[name] = self._rights.get(name, _NOTHING).with_list(self._stamp())
        self._allow(name)
        self._changed()

    async def refused(self, part: Part, exc: DynkubeError, asked: float) -> bool:
        """Record a refused list, and remove the objects of the namespace if that decides that it may not be listed.

        Args:
            part: the namespace.
            exc: the refusal.
            asked: when the list was begun: a list that is answered late says nothing of later times.

        Returns:
            Whether that is not a failure: it is forbidden, or it is the first refusal, which is being examined.
        """
        if evidence_of(exc) is not Evidence.NOT_AUTHORIZED:
            return False
        name = part.namespace or ""
        first = name not in self._refused
        self._refused.add(name)
        self._refuse(name, asked, str(exc))
        if name in self._forbidden or self._judge(name) is Right.DENIED:
            await self._forbid(name, str(exc))
            self._changed()
            return True
        return first

    @property
    def reviewable(self) -> list[str]:
        """The namespaces to review; also those that wait, as they may be forbidden."""
        return sorted(self._names)

    def in_doubt(self, name: str) -> Rights | None:
        """Return what is known of a namespace if it is not decided whether it may be read; else ``None``."""
        undecided = name in self._names and name not in self._forbidden and self._judge(name) is Right.UNDECIDED
        return self._rights[name] if undecided else None

    def is_forbidden(self, name: str) -> bool:
        """Return whether it is decided that a namespace may not be read."""
        return name in self._forbidden

    # Called in the task of the reviews.

    def reviewed(self, name: str, asked: float, *, allowed: bool) -> None:
        """Receive whether the user may read the resource in a namespace."""
        message = "" if allowed else f"the user may not list the resource in namespace {name!r}"
        self._observe(name, self._rights.get(name, _NOTHING).with_review(asked, allowed=allowed, message=message))

    def review_refused(self, name: str, asked: float, message: str) -> None:
        """Receive the report that the user may not review their own rights in a namespace."""
        self._observe(name, self._rights.get(name, _NOTHING).with_refused_review(asked, message))

    def tried(self, name: str, asked: float, refusal: str) -> None:
        """Receive the result of a list of one object: the server's refusal; ``""`` for a success."""
        if refusal:
            self._refuse(name, asked, refusal)
        else:
            self._observe(name, self._rights.get(name, _NOTHING).with_list(asked))

    def _refuse(self, name: str, asked: float, message: str) -> None:
        self._observe(name, self._rights.get(name, _NOTHING).with_refused_list(asked, message))

    def _observe(self, name: str, rights: Rights) -> None:
        """Record observations; what follows from them is done in the owner's task."""
        if name not in self._names or rights is self._rights.get(name, _NOTHING):
            return
        before, self._rights[name] = self._judge(name), rights
        verdict = self._judge(name)
        if name in self._forbidden:
            if verdict is Right.ALLOWED and name not in self._parts:
                self._allow(name)
                insort(self._waiting, name)
                self._changed()
        elif verdict is Right.UNDECIDED:
            if before is not Right.UNDECIDED:  # else it is going to be examined again
                self.doubts.add(name, trio.current_time())
        elif verdict is Right.DENIED:
            self._unjudged.add(name)
            self._changed()

    def _judge(self, name: str) -> Right:
        part = self._parts.get(name)
        shown = part is not None and len(part.cache.snapshot) > 0
        return judge_rights(self._rights.get(name, _NOTHING), shown=shown, ready_at=self._readiness.ready_at)

    def unreviewed(self) -> None:
        """Receive the report that the user may not review their own rights: try what is forbidden, by turns."""
        if not self._trials:
            self._untried = self._untried or list(self._shown)
            self._trials, self._untried = self._untried[: self._most], self._untried[self._most :]
        self._changed()

    def _changed(self) -> None:
        if not self._posted:
            self._posted = True
            self._owner.inbox.post(self._update)

    async def _update(self) -> None:
        """Follow up all events since the last time."""
        self._posted = False
        if self._selected is None:  # the resource has gone meanwhile
            return
        names = self._selected.names
        if names is not None and names != self._names:
            await self._follow_names(names)
        while self._unjudged:
            name = self._unjudged.pop()
            if name not in self._forbidden and self._judge(name) is Right.DENIED:
                await self._forbid(name, self._rights[name].message)
            elif self.in_doubt(name) is not None:  # there was a newer report that the server is ready
                self.doubts.add(name, trio.current_time())
        self._admit()
        self._owner.show_state()
        await self._owner.settle()

    async def _follow_names(self, names: frozenset[str]) -> None:
        gone = self._names - names
        new = sorted(names - self._names)
        self._names = names
        self._waiting = sorted([*(name for name in self._waiting if name not in gone), *new])
        for name in gone:
            self._allow(name)
            self._rights.pop(name, None)
            self._refused.discard(name)
            self._unjudged.discard(name)
            self.doubts.discard(name)
        for name in sorted(gone & self._parts.keys()):
            await self._end(name)

    def _admit(self) -> None:
        """List as many of the waiting namespaces as may be watched, then those that are to be tried."""
        self._make_room()
        room = max(0, self._most - len(self._parts))
        admitted, self._waiting = self._waiting[:room], self._waiting[room:]
        trials = [name for name in self._trials if name in self._forbidden and name not in self._parts]
        tried, self._trials = trials[: room - len(admitted)], trials[room - len(admitted) :]
        for name in chain(admitted, tried):
            part = self._parts[name] = Part(self._owner, name)
            part.start(consistent=not self._first)
        self._first = self._first and not self._parts

    def _make_room(self) -> None:
        """End trials, which have no objects, where others need their places: their server may not respond."""
        lacking = len(self._waiting) - (self._most - len(self._parts))
        tried = [name for name, part in self._parts.items() if name in self._forbidden and not part.known]
        for name in tried[: max(0, lacking)]:
            part = self._parts.pop(name)
            self._add_to_ended(part)
            part.stop()

    async def _end(self, name: str) -> None:
        part = self._parts.pop(name)
        self._add_to_ended(part)
        part.stop()
        await part.empty()

    def _add_to_ended(self, part: Part) -> None:
        ended = ReflectorStatistics.total([self._ended, part.statistics])
        ended.last_activity = -math.inf  # it is not silent, it has ended
        ended.listed = 0
        self._ended = ended

    async def _forbid(self, name: str, message: str) -> None:
        if name not in self._names:
            return
        if name not in self._forbidden:
            insort(self._shown, name)
            self._forbidden[name] = State(Phase.ABSENT, "Forbidden", "")
        self._forbidden[name] = next_state(self._forbidden[name], Phase.ABSENT, "Forbidden", message)
        if (at := bisect_left(self._waiting, name)) < len(self._waiting) and self._waiting[at] == name:
            del self._waiting[at]
        if name in self._parts:
            await self._end(name)

    def _allow(self, name: str) -> None:
        """Forget that a namespace was forbidden."""
        if self._forbidden.pop(name, None) is not None:
            del self._shown[bisect_left(self._shown, name)]
