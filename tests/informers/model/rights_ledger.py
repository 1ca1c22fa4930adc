"""The history of the user's rights, and of the sets of namespaces that informers watch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

import trio

from tests.informers.model.ledger import Ledger, Timeline
from tests.informers.model.watched import Watched

CONFIRMED: Final = 30.0
"""Seconds for which a right has to be lost before objects may be reported as deleted: answers can be a moment's."""

APART: Final = 150.0
"""Seconds after which there was a positive answer of each source: reviews are made each 30 seconds, lists retried."""


class RightsLedger:
    """When the user could read each namespace, and which namespaces each set had.

    Args:
        ledger: numbers the moments.
        names: the names of the changing set.
    """

    def __init__(self, ledger: Ledger, names: Iterable[str]) -> None:
        self._ledger = ledger
        self._names = Timeline(0, frozenset(names))
        self._denials: list[tuple[float, float]] = []  # begin and end of wrong answers
        self._unanimous: list[tuple[float, float]] = []  # those of lists and reviews alike
        self._losses: dict[str, list[tuple[float, float]]] = {}  # begin and end; the last one may be infinite

    @property
    def names(self) -> frozenset[str]:
        """The present names of the changing set."""
        return self._names.states[-1][1]

    def name(self, names: Iterable[str]) -> None:
        """Record the names of the changing set."""
        self._names.note(self._ledger.advance(), frozenset(names))

    def grant(self, place: str) -> None:
        """Record that the user may read a namespace from now on."""
        losses = self._losses.setdefault(place, [(-math.inf, math.inf)])
        if losses[-1][1] == math.inf:
            losses[-1] = (losses[-1][0], trio.current_time())

    def revoke(self, place: str) -> None:
        """Record that the user may not read a namespace from now on."""
        if self.holds(place):
            self._losses[place].append((trio.current_time(), math.inf))

    def holds(self, place: str) -> bool:
        """Return whether the user may read a namespace now."""
        return place in self._losses and self._losses[place][-1][1] < math.inf

    def denial_began(self, *, unanimous: float = 0.0) -> None:
        """Record that wrong answers about rights begin, for so many seconds of lists and of reviews alike."""
        now = trio.current_time()
        self._denials.append((now, math.inf))
        if unanimous:
            self._unanimous.append((now, now + unanimous))

    def denial_ended(self) -> None:
        """Record that they have ended."""
        self._denials[-1] = (self._denials[-1][0], trio.current_time())

    def unanimous_since(self, moment: int) -> bool:
        """Return whether both sources denied at once since ``moment``.

        A namespace of which nothing is shown is forbidden as soon as both sources of a ready server say so.
        """
        return any(end >= self._ledger.time_of(moment) for _, end in self._unanimous)

    def may_deny(self) -> bool:
        """Return whether the last wrong answers ended long ago, so that others do not confirm them."""
        return not self._denials or trio.current_time() > self._denials[-1][1] + APART

    def _lasted(self, begin: float, end: float) -> float:
        """Return how long a loss of a right seems to last: for ever, if wrong answers could add to it."""
        added = any(begin <= ended + APART and end >= began - APART for began, ended in self._denials)
        return math.inf if added else end - begin

    def loss_since(self, place: str, moment: int) -> float:
        """Return for how many seconds the right was missing at most, of the times that ended after ``moment``."""
        begin, now = self._ledger.time_of(moment), trio.current_time()
        losses = self._losses.get(place, [(-math.inf, math.inf)])
        return max((self._lasted(first, min(end, now)) for first, end in losses if end >= begin), default=0.0)

    def members(self, watched: Watched, begin: int) -> Iterator[frozenset[str]]:
        """Yield the namespaces of a set at each moment from ``begin`` until now."""
        selection = watched.selection
        if selection.by_label:
            yield from self._ledger.chosen.during(begin, self._ledger.moment)
        elif selection.changing:
            yield from self._names.during(begin, self._ledger.moment)
        else:
            yield frozenset(selection.namespaces or ())

    def present(self, watched: Watched) -> frozenset[str]:
        """Return the namespaces of a set now."""
        return list(self.members(watched, self._ledger.moment))[-1]

    def may_be_hidden(self, watched: Watched, place: str, begin: int) -> bool:
        """Return whether a namespace was not in the set since ``begin``, or the right to read it really lost."""
        left = any(place not in names for names in self.members(watched, begin))
        return left or self.loss_since(place, begin) >= CONFIRMED

    def readable_since(self, watched: Watched, begin: int) -> frozenset[str]:
        """Return the namespaces that were in the set, and that the user could read, all the time since ``begin``."""
        always = frozenset.intersection(*self.members(watched, begin))
        return frozenset(place for place in always if self.loss_since(place, begin) <= 0.0 and self.holds(place))
