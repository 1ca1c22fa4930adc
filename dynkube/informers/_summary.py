"""The state of several informers or namespaces together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from dynkube.informers._states import Phase, State

_NAMED: Final = 3  # members in a message


def state_of_clusters(states: Mapping[str, State]) -> State:
    """Return the state of the informers of several clusters together, given those of each by name."""
    summary = Summary("clusters", len(states), "there are no clusters", "without the resource")
    for cluster in sorted(states):
        summary.add(cluster, states[cluster])
    return summary.state


class Summary:
    """Sums up states: the worst counts, and ABSENT only if all are.

    Args:
        members: what they are: ``"namespaces"``.
        count: how many there are.
        empty: the message if there are none.
        absent: what the ABSENT ones are: ``"forbidden"``.
    """

    def __init__(self, members: str, count: int, empty: str, absent: str) -> None:
        self._of_all = f"of {count:,} {members}"
        self._count = count
        self._empty = empty
        self._absent = absent
        self._named: dict[Phase, list[str]] = {}
        self._counts: dict[Phase, int] = {}
        self._first: dict[Phase, State] = {}

    def add(self, name: str, state: State) -> None:
        """Add a member."""
        self.add_all((name,), state)

    def add_all(self, names: Sequence[str], state: State) -> None:
        """Add members with the same state, in their order."""
        # A closed informer is as bad as a failing one, and one of unknown state has still to be listed.
        phase = {Phase.STOPPED: Phase.DEGRADED, Phase.UNKNOWN: Phase.SYNCING}.get(state.phase, state.phase)
        self._first.setdefault(phase, state)
        named = self._named.setdefault(phase, [])
        named.extend(islice(names, _NAMED - len(named)) if len(named) < _NAMED else ())
        self._counts[phase] = self._counts.get(phase, 0) + len(names)

    @property
    def state(self) -> State:
        """The state of all that were added."""
        if not self._count:
            return State(Phase.LIVE, "Watching", self._empty)
        for phase in (Phase.DEGRADED, Phase.SYNCING):
            if phase in self._first:
                first = self._first[phase]
                return State(phase, first.reason, f"{self._some(phase)}: {first.message or first.reason}")
        if Phase.ABSENT not in self._first:
            return State(Phase.LIVE, "Watching", "")
        first, absent = self._first[Phase.ABSENT], f"{self._absent}: {self._some(Phase.ABSENT)}"
        if self._counts[Phase.ABSENT] == self._count:
            return State(Phase.ABSENT, first.reason, f"{absent}: {first.message}")
        return State(Phase.LIVE, "Watching", absent)

    def _some(self, phase: Phase) -> str:
        """Return the first names, how many more there are, and of how many."""
        count, named = self._counts[phase], self._named[phase]
        more = f" and {count - len(named):,} more" if count > len(named) else ""
        return f"{', '.join(named)}{more} ({count:,} {self._of_all})"
