"""What is wrong with a run, compared with runs without perturbations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dynkube_testing._perturbation.run import Outcome
from dynkube_testing._perturbation.states import Flat, differences, flattened, normalized, varying

_INDEX: Final = re.compile(r"\[\d+\]")
_MORE: Final = 2  # an object may be created and deleted this often more than without perturbations
_MAX_EXITS: Final = 5  # exits of the program after a settled state that are one too many


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a run.

    Attributes:
        oracle: ``"state"``, ``"settling"``, ``"flapping"``, ``"exits"`` or ``"assertion"``.
        summary: What is wrong, in a line.
        details: More lines.
    """

    oracle: str
    summary: str
    details: tuple[str, ...] = ()

    @property
    def signature(self) -> frozenset[str]:
        """Equal for problems that are likely to have the same cause: without the names of objects and their values."""
        return frozenset({self.oracle, *map(_without_names, self.details)})


@dataclass(frozen=True, slots=True)
class Reference:
    """What is the same in all runs without perturbations.

    Attributes:
        states: The objects at each ``settle()``.
        masked: The places, at each ``settle()``, whose values differ between these runs.
        made: How often each object was created, at most.
        removed: How often each object was deleted, at most.
    """

    states: tuple[Flat, ...]
    masked: tuple[frozenset[str], ...]
    made: Counter[tuple[str, str]]
    removed: Counter[tuple[str, str]]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Reference:
        """Learn from runs without perturbations, which have settled equally often."""
        states = [[flattened(normalized(state)) for state in outcome.states] for outcome in outcomes]
        made: Counter[tuple[str, str]] = Counter()
        removed: Counter[tuple[str, str]] = Counter()
        for outcome in outcomes:
            made |= outcome.recording.made
            removed |= outcome.recording.removed
        masked = tuple(varying(list(moment)) for moment in zip(*states, strict=True))
        return cls(tuple(states[0]), masked, made, removed)


def problems(outcome: Outcome, reference: Reference) -> list[Problem]:
    """Return what is wrong with a run; the most telling comes first."""
    found = []
    if outcome.ended:
        found.append(Problem("settling", outcome.ended))
    moments = zip(outcome.states, reference.states, reference.masked, strict=False)
    for number, (objects, expected, masked) in enumerate(moments, 1):
        if lines := differences(flattened(normalized(objects)), expected, masked):
            summary = f"after settle() number {number} the objects differ from those of an unperturbed run"
            found.append(Problem("state", summary, tuple(lines)))
            break
    found += _flapping(outcome, reference)
    if outcome.failure is not None:
        error = outcome.failure
        found.append(Problem("assertion", f"{type(error).__name__}: {error}".partition("\n")[0]))
    if outcome.settled:
        late = [time for time in outcome.recording.exits if time > outcome.settled[-1] - 300]
        if len(late) >= _MAX_EXITS:
            found.append(
                Problem("exits", f"the program still ends by itself: {len(late)} times in the last 300 seconds")
            )
    return found


def _without_names(line: str) -> str:
    """Return what remains of a line about an object: its resource, and the path or what is wrong with all of it."""
    resource, _, rest = line.partition(" ")
    path = rest.partition(" ")[2].partition(":")[0]
    return f"{resource} {_INDEX.sub('[]', path)}"


def _flapping(outcome: Outcome, reference: Reference) -> list[Problem]:
    made, removed = outcome.recording.made, outcome.recording.removed
    lines = [
        f"{resource} {key}: created {count} times, and deleted {removed[resource, key]} times"
        for (resource, key), count in sorted(made.items())
        if count > reference.made[resource, key] + _MORE
        and removed[resource, key] > reference.removed[resource, key] + _MORE
    ]
    return [Problem("flapping", "objects are created and deleted again and again", tuple(lines))] if lines else []
