"""The parts of the cache of a set of namespaces: one list and watch for each namespace that may be listed.

=============  ============================================  ====================================================
a namespace    event                                         then
=============  ============================================  ====================================================
not selected   selected                                      listed; waiting if too many are being watched
listed         not selected any more                         removed, with its objects
listed         a list is forbidden, or so says a review      forbidden, and its objects are removed
forbidden      a review says that it may be listed           listed
forbidden      reviews are forbidden as well                 listed, to try it
waiting        fewer are being watched                       listed
waiting        a review says that it may not be listed       forbidden
=============  ============================================  ====================================================

A watch does not end when the right to it is lost. So rights are reviewed at intervals, also those that exist. Where
only watching is forbidden, objects are listed at intervals, as by any informer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Protocol

import trio

from dynkube.errors import DynkubeError
from dynkube.informers._parts.access_reviews import AccessReviews
from dynkube.informers._parts.part import Owner, Part
from dynkube.informers._states import Phase, State
from dynkube.informers._statistics import NamespaceStatus
from dynkube.informers._summary import summary

NAMESPACES_PENDING: Final = "NamespacesPending"


class SelectedNames(Protocol):
    """The names of a set of namespaces, kept up to date."""

    @property
    def names(self) -> frozenset[str] | None:
        """The names; ``None`` before they are known."""
        ...

    @property
    def pending(self) -> str:
        """The reason why they are not known yet, for messages."""
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
        owner: the owner of the cache, in whose task everything here runs.
        follow: starts to follow the names; it is given what to call when they change.
        reviews: creates the task that reviews the user's rights; it is given these parts.
        most: the number of namespaces that are watched at the same time.
    """

    def __init__(
        self,
        owner: SetOwner,
        follow: Callable[[Callable[[], None]], SelectedNames],
        reviews: Callable[[NamespaceParts], AccessReviews],
        most: int,
    ) -> None:
        self._owner = owner
        self._follow = follow
        self._reviews = reviews
        self._most = most
        self._parts: dict[str, Part] = {}
        self._waiting: tuple[str, ...] = ()
        self._selected: SelectedNames | None = None
        self._reviewing: trio.CancelScope | None = None
        self._posted = False

    def __iter__(self) -> Iterator[Part]:
        return iter(tuple(self._parts.values()))

    @property
    def names(self) -> frozenset[str]:
        """The namespaces, also those that are forbidden or waiting."""
        return frozenset(self._parts).union(self._waiting)

    @property
    def state(self) -> State:
        """The state of all together; see ``_summary.py``."""
        selected = self._selected
        if selected is None or selected.names is None:
            because = selected.pending if selected is not None else ""
            return State(Phase.SYNCING, NAMESPACES_PENDING, f"the set of namespaces is not known yet: {because}")
        return summary(self.states, members="namespaces", empty="no namespace is selected", absent="are forbidden")

    @property
    def states(self) -> dict[str, State]:
        """The state of each namespace, by name."""
        states = {name: part.state for name, part in dict(self._parts).items()}
        too_many = f"not watched, as InformerSettings.max_namespaces is {self._most}"
        return states | dict.fromkeys(self._waiting, State(Phase.DEGRADED, "TooManyNamespaces", too_many))

    def statuses(self) -> dict[str, NamespaceStatus]:
        """Return the status of each namespace, by name. May be called from any thread."""
        parts = dict(self._parts)
        return {
            name: NamespaceStatus(
                state=state,
                has_synced=name in parts and parts[name].known,
                objects=len(parts[name].cache.snapshot) if name in parts else 0,
            )
            for name, state in self.states.items()
        }

    @property
    def known(self) -> bool:
        """Whether the set is known, and each of its namespaces was listed or is forbidden."""
        selected = self._selected
        if selected is None or selected.names is None or self._waiting:
            return False
        return selected.names == self._parts.keys() and all(part.known for part in self._parts.values())

    def of(self, namespace: str) -> Part | None:
        """Return the part of a namespace; ``None`` if it is not in the set, or waiting."""
        return self._parts.get(namespace)

    def start(self) -> None:
        """Follow the set, and list each of its namespaces, again if that was done before."""
        for name, part in tuple(self._parts.items()):
            if part.reflecting:
                part.start(consistent=True)
            else:
                del self._parts[name]  # was forbidden, and is tried again
        if self._selected is None:
            self._selected = self._follow(self._changed)
        if self._reviewing is None:
            self._reviewing = self._owner.run_beside(self._reviews(self))
        self._changed()

    def stop(self) -> None:
        """End all lists and watches, and stop to follow the set. The objects stay."""
        for part in self._parts.values():
            part.stop()
        self._waiting = ()
        if self._selected is not None:
            self._selected.close()
            self._selected = None
        if self._reviewing is not None:
            self._reviewing.cancel()
            self._reviewing = None

    def clear(self) -> None:
        """Drop all parts, with their objects."""
        self._parts.clear()

    # ── what happens to the set ──────────────────────────────────────────────────────────────

    def _changed(self) -> None:
        if not self._posted:
            self._posted = True
            self._owner.inbox.post(self._update)

    async def _update(self) -> None:
        """Remove the parts of namespaces that have left the set, and list those that are new."""
        self._posted = False
        names = self._names
        for name in sorted(self._parts.keys() - names):
            part = self._parts.pop(name)
            part.stop()
            await part.empty()
        self._admit()
        self._owner.state_changed()
        await self._owner.settle()

    @property
    def _names(self) -> frozenset[str]:
        """The names of the set; those of the parts while they are not known."""
        names = self._selected.names if self._selected is not None else None
        return frozenset(self._parts) if names is None else names

    def _admit(self) -> None:
        """List as many of the waiting namespaces as may be watched."""
        waiting = sorted(self._names - self._parts.keys())
        room = max(0, self._most - sum(part.reflecting for part in self._parts.values()))
        for name in waiting[:room]:
            part = self._parts[name] = Part(self._owner, name)
            part.start(consistent=True)
        self._waiting = tuple(waiting[room:])

    # ── what happens to the user's rights ────────────────────────────────────────────────────

    async def refused(self, part: Part, exc: DynkubeError) -> bool:
        """Remove the objects of a namespace that may not be listed."""
        await self._forbid(part, str(exc))
        return True

    @property
    def reviewable(self) -> list[str]:
        """The namespaces to review; also those that wait, as they may be forbidden."""
        return sorted(self.names)

    def reviewed(self, name: str, *, allowed: bool) -> None:
        """Receive whether the user may list the resource in a namespace."""
        self._owner.inbox.post(partial(self._follow_review, name, allowed=allowed))

    def unreviewed(self) -> None:
        """Receive the report that the user may not review their own rights: try what was forbidden."""
        for name in self.reviewable:
            self._owner.inbox.post(partial(self._try, name))

    async def _follow_review(self, name: str, *, allowed: bool) -> None:
        if allowed:
            await self._try(name)
            return
        part = self._parts.get(name)
        if part is None and name in self._waiting:
            part = self._parts[name] = Part(self._owner, name)
        if part is not None and (part.reflecting or not part.known):  # if not, it is forbidden already
            await self._forbid(part, f"the user may not list the resource in namespace {name!r}")

    async def _try(self, name: str) -> None:
        """List a namespace that was forbidden."""
        part = self._parts.get(name)
        if part is not None and self._selected is not None and not part.reflecting:
            del self._parts[name]
            self._admit()
            self._owner.state_changed()

    async def _forbid(self, part: Part, message: str) -> None:
        part.stop()
        await part.empty()
        part.known = True
        part.set_state(Phase.ABSENT, "Forbidden", message)
        self._admit()  # others may wait for its place
        self._owner.state_changed()
        await self._owner.settle()
