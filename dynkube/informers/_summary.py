"""The state of several informers or namespaces together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dynkube.informers._states import Phase, State

_NAMED: Final = 3  # members in a message


def summary(states: Mapping[str, State], *, members: str, empty: str, absent: str) -> State:
    """Return the state of all together: the worst, where ABSENT counts only if all are.

    Args:
        states: the state of each member, by name.
        members: what they are: ``"namespaces"``.
        empty: the message if there are no members.
        absent: what is said of ABSENT members: ``"are forbidden"``.
    """
    if not states:
        return State(Phase.LIVE, "Watching", empty)
    by_phase: dict[Phase, list[str]] = {}
    for name in sorted(states):
        by_phase.setdefault(states[name].phase, []).append(name)
    of_all = f"of {len(states)} {members}"
    if failing := [*by_phase.get(Phase.DEGRADED, ()), *by_phase.get(Phase.STOPPED, ())]:
        first = states[failing[0]]
        return State(Phase.DEGRADED, first.reason, f"{some(failing)}, {len(failing)} {of_all}: {first.message}")
    if syncing := sorted([*by_phase.get(Phase.SYNCING, ()), *by_phase.get(Phase.UNKNOWN, ())]):
        return State(Phase.SYNCING, "Listing", f"{len(syncing)} {of_all} are being listed: {some(syncing)}")
    left_out = by_phase.get(Phase.ABSENT, [])
    if len(left_out) == len(states):
        first = states[left_out[0]]
        return State(Phase.ABSENT, first.reason, f"all {of_all} {absent}: {some(left_out)}: {first.message}")
    return State(Phase.LIVE, "Watching", f"{len(left_out)} {of_all} {absent}: {some(left_out)}" if left_out else "")


def some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
