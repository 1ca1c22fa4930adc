"""The history of the server: when each object and each resource existed, as recorded by the machine that wrote them.

Moments are numbered: every change and every observation has its place in one order, even if no time passes in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

import trio

from dynkube import GVR, Unstructured
from dynkube.errors import NoMatch
from dynkube.meta._object import Key
from dynkube_testing import APIServer
from tests.informers.model.expected_state import EXTRA, GROUP, METRICS, ExpectedState, StoredObject
from tests.informers.model.watched import Watched

T = TypeVar("T")

RESOURCES: Final = (
    GVR(GROUP, "v1", "widgets"),
    GVR(GROUP, "v2", "widgets"),
    GVR(GROUP, "v1", "gadgets"),
    GVR(METRICS, "v1", "gauges"),
    GVR(EXTRA, "v1", "extras"),
    GVR(GROUP, "", "widgets"),
    GVR(METRICS, "", "gauges"),
)
"""Resources that are served only at times; an empty version means any. All others are served always or never."""


VERSIONS: Final = ("v2", "v1")
"""Versions that may be served, the preferred one first."""


class Timeline(Generic[T]):
    """A value that changes, with the moment at which each value began."""

    def __init__(self, moment: int, value: T) -> None:
        self._states = [(moment, value)]

    def note(self, moment: int, value: T) -> None:
        """Record that the value is ``value`` from ``moment`` on."""
        if value != self._states[-1][1]:
            self._states.append((moment, value))

    def during(self, begin: int, end: int) -> Iterator[T]:
        """Yield every value between ``begin`` and ``end``."""
        for number, (moment, value) in enumerate(self._states):
            ends = self._states[number + 1][0] if number + 1 < len(self._states) else end + 1
            if moment <= end and ends > begin:
                yield value

    @property
    def states(self) -> Sequence[tuple[int, T]]:
        """All values, each with the moment at which it began."""
        return self._states


@dataclass(frozen=True, slots=True)
class Served:
    """How a resource is served. ``uid`` is that of its CRD, and empty for other resources."""

    uid: str
    namespaced: bool


class Ledger:
    """The history of one server.

    Args:
        server: used only to look up which resources it serves, as the server itself establishes CRDs.
        expected_state: the present state, as the machine has written it.
    """

    def __init__(self, server: APIServer, expected_state: ExpectedState) -> None:
        self.moment = 0
        self.chosen: Timeline[frozenset[str]] = Timeline(0, frozenset())
        """The namespaces that have the label ``chosen``."""
        self._times = [trio.current_time()]
        self._server = server
        self.expected_state = expected_state
        self._resources: dict[GVR, Timeline[Served | None]] = {gvr: Timeline(0, None) for gvr in RESOURCES}
        self._lives: dict[tuple[str, Key, str], Timeline[StoredObject | None]] = {}
        self._alive: dict[tuple[str, Key, str], StoredObject] = {}

    def advance(self) -> int:
        """Record the changes since the last call and begin another moment; call it after each change."""
        self.moment += 1
        self._times.append(trio.current_time())
        self.chosen.note(self.moment, self.expected_state.chosen_namespaces())
        for gvr, timeline in self._resources.items():
            timeline.note(self.moment, self._served(gvr))
        now = {
            (resource, stored.key, stored.uid): stored
            for resource, objects in self.expected_state.objects.items()
            for stored in objects.values()
        }
        for one in self._alive.keys() - now.keys():
            self._lives[one].note(self.moment, None)
        for one, stored in now.items():
            if one in self._lives:
                self._lives[one].note(self.moment, stored)
            else:
                self._lives[one] = Timeline(self.moment, stored)
        self._alive = now
        return self.moment

    def _served(self, gvr: GVR) -> Served | None:
        for version in [gvr.version] if gvr.version else VERSIONS:
            with suppress(NoMatch):
                kind = self._server.kind(replace(gvr, version=version))
                if kind.listed:
                    return Served(kind.crd_uid or "", kind.namespaced)
        return None

    def time_of(self, moment: int) -> float:
        """Return the time at which a moment began, on trio's clock."""
        return self._times[moment]

    # ── the past ─────────────────────────────────────────────────────────────────────────────

    def states(self, gvr: GVR, obj: Unstructured) -> Iterable[tuple[int, StoredObject | None]]:
        """Return all states of the object with this UID; ``None`` while it did not exist."""
        life = self._lives.get((gvr.resource, obj.key, obj.uid))
        return () if life is None else life.states

    def written(self, gvr: GVR, obj: Unstructured) -> Iterable[tuple[int, StoredObject]]:
        """Yield the states of this object with this resourceVersion: none if never written, two after a rewind."""
        for moment, stored in self.states(gvr, obj):
            if stored is not None and stored.version == obj.resource_version:
                yield moment, stored

    def states_since(self, gvr: GVR, obj: Unstructured, begin: int) -> Iterator[StoredObject | None]:
        """Yield the states of this object from ``begin`` until now."""
        yield from self._lives[gvr.resource, obj.key, obj.uid].during(begin, self.moment)

    def unchanged_since(self, gvr: GVR, stored: StoredObject, begin: int) -> bool:
        """Return whether an object has existed in its present state from ``begin`` until now."""
        life = self._lives.get((gvr.resource, stored.key, stored.uid))
        return life is not None and life.states[-1][0] <= begin

    def may_follow(self, gvr: GVR, version: str, obj: Unstructured) -> bool:
        """Return whether this object was in its present state later than in ``version``, as after a restore."""
        began = [moment for moment, stored in self.states(gvr, obj) if stored is not None and stored.version == version]
        return any(moment > min(began, default=0) for moment, _ in self.written(gvr, obj))

    def was_missing(self, watched: Watched, begin: int) -> bool:
        """Return whether the collection of ``watched`` was not served at some moment from ``begin`` until now."""
        return any(
            served is None or (watched.selection.of_namespaces and not served.namespaced)
            for served in self._served_since(watched.gvr, begin)
        )

    def was_replaced(self, gvr: GVR, begin: int) -> bool:
        """Return whether one resource replaced another of the same name between ``begin`` and now."""
        return len(set(self._served_since(gvr, begin))) > 1

    def _served_since(self, gvr: GVR, begin: int) -> Iterator[Served | None]:
        if gvr in self._resources:
            yield from self._resources[gvr].during(begin, self.moment)
        else:
            yield Served("", namespaced=True) if self.expected_state.is_served(gvr) else None
